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

// What filters did to all tokens alike.
struct Shape {
  bool tempered = false;  // FILTER_TEMPERATURE has run
  double origin = 0;      // what was taken off every x
};

// One filter of step 5 on the survivors (ascending ids). Returns its margin (see OracleDraw).
double ApplyFilter(sampling::Filter filter, const sampling::Params& params,
                   const sampling::RowInput& row, bool xtc_acts, Shape& shape,
                   std::vector<Token>& tokens, bool& xtc_applied);

// The survivors as adaptive-p draws from them.
void AdaptiveP(const sampling::Params& params, const sampling::RowInput& row,
               std::vector<Token>& tokens);

double MaxLogit(const std::vector<Token>& tokens);

}  // namespace tokendraw::oracle

#endif  // TOKENDRAW_TESTS_ORACLE_STEPS_H_
