// What each stage did to one row, for people. Not for the hot path: it looks at every survivor
// after every stage.
#ifndef TOKENDRAW_SAMPLING_EXPLAIN_H_
#define TOKENDRAW_SAMPLING_EXPLAIN_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "sampling/params.h"
#include "sampling/types.h"

namespace tokendraw::sampling {

// The edits, or one filter that is on. p is the softmax of the tokens before the stage, H its
// entropy.
struct Stage {
  std::optional<Filter> filter;  // none: the mask and the edits
  int32_t before = 0;            // tokens
  int32_t after = 0;
  double mass_removed = 0;    // sum of p of those removed
  double entropy_before = 0;  // nats
  double entropy_after = 0;   // nats, of the softmax of those that stay
  // Of the last token that stays, p; of typical_p, abs(-ln p - H). Of XTC, its threshold.
  std::optional<double> threshold;
  std::optional<double> next;         // the same of the first token that goes, XTC aside
  std::optional<double> temperature;  // that the filter of this name came to
};

// One of the tokens that matter most.
struct ExplainedToken {
  int32_t id = 0;
  float logit = 0;                    // as it came
  std::optional<float> edited_logit;  // none if the edits removed it
  // As it came, and after each stage; 0 once removed.
  std::vector<double> probabilities;
  std::optional<int32_t> removed_by;  // index of the stage
  double noise = 0;                   // Gumbel: of the survivors, the largest ln p + noise is drawn
};

// The XTC coin of the draw: it acts if u < xtc_probability, or what else the profile says.
struct XtcCoin {
  double u = 0;
  bool acts = false;
  bool applied = false;  // tokens were removed
};

struct Explanation {
  RowError error;  // if there is one, nothing else is set
  int32_t token_id = -1;
  bool greedy = false;
  SamplerState state;           // after this token, if Params::HasState
  std::optional<XtcCoin> coin;  // if XTC is on and not skipped
  std::vector<Stage> stages;    // the edits first
  // By probability after the edits, largest first, ties lowest id first. Among them the token.
  std::vector<ExplainedToken> tokens;
};

// Explains draw `sample_index` of a whole row (no candidates). `tokens` are the `top` most probable
// ones of the row as it came, after the edits and at the end.
Explanation ExplainRow(const Params& params, const RowInput& row, int32_t sample_index, int top);

}  // namespace tokendraw::sampling

#endif  // TOKENDRAW_SAMPLING_EXPLAIN_H_
