// The steps that the oracle is made of.
#ifndef TOKENDRAW_TESTS_ORACLE_STEPS_H_
#define TOKENDRAW_TESTS_ORACLE_STEPS_H_

#include <vector>

#include "sampling/params.h"
#include "sampling/types.h"

namespace tokendraw::oracle {

struct Token {
  int32_t id = 0;
  double x = 0;
};

// Steps 1-3, in float32.
void Edit(const sampling::Params& params, const sampling::RowInput& row, std::vector<float>& x);

// One filter of step 5 on the survivors (ascending ids). Returns its margin (see OracleDraw).
// `tempered` says whether FILTER_TEMPERATURE has run.
double ApplyFilter(sampling::Filter filter, const sampling::Params& params, bool xtc_acts,
                   bool tempered, std::vector<Token>& tokens, bool& xtc_applied);

double MaxLogit(const std::vector<Token>& tokens);

}  // namespace tokendraw::oracle

#endif  // TOKENDRAW_TESTS_ORACLE_STEPS_H_
