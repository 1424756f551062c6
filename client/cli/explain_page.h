// The page that `tokendraw explain --html` writes.
#ifndef TOKENDRAW_CLIENT_CLI_EXPLAIN_PAGE_H_
#define TOKENDRAW_CLIENT_CLI_EXPLAIN_PAGE_H_

#include <optional>
#include <string>
#include <vector>

#include "tokendraw/v1/sampling.pb.h"

namespace tokendraw::cli {

// The same row with one parameter, or the draw, moved.
struct Move {
  std::string name;             // of the parameter; "draw"
  std::optional<double> given;  // what the row has
  std::vector<std::pair<double, v1::ExplainRowResponse>> replies;
};

// One HTML document that refers to nothing outside of itself. `title` names the row.
std::string ExplainPage(const std::string& title, const v1::ExplainRowResponse& reply,
                        const std::vector<Move>& moves, const v1::SamplingParams& params,
                        const std::vector<std::string>& vocab);

}  // namespace tokendraw::cli

#endif  // TOKENDRAW_CLIENT_CLI_EXPLAIN_PAGE_H_
