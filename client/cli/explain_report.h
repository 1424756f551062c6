// What `tokendraw explain` prints.
#ifndef TOKENDRAW_CLIENT_CLI_EXPLAIN_REPORT_H_
#define TOKENDRAW_CLIENT_CLI_EXPLAIN_REPORT_H_

#include <ostream>
#include <string>
#include <vector>

#include "tokendraw/v1/sampling.pb.h"

namespace tokendraw::cli {

// "edits", or a filter's name such as "typical_p".
std::string StageName(const v1::ExplainedStage& stage);

// Where the stage cut, such as "p down to 0.031, next 0.029"; empty if it does not cut.
std::string CutOf(const v1::ExplainedStage& stage);

// The XTC coin, a table of the stages, a table of the tokens with bars, and the draw. The row has
// no error. `vocab` may be empty: no texts.
void PrintExplanation(const v1::ExplainRowResponse& reply, const v1::SamplingParams& params,
                      const std::vector<std::string>& vocab, std::ostream& out);

}  // namespace tokendraw::cli

#endif  // TOKENDRAW_CLIENT_CLI_EXPLAIN_REPORT_H_
