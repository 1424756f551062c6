// What a row comes to once its XTC coin is thrown: the survivors, and what a token of them is drawn
// from. All draws of a row with the same coin share one.
#ifndef TOKENDRAW_SAMPLING_OUTCOME_H_
#define TOKENDRAW_SAMPLING_OUTCOME_H_

#include <cstdint>

#include "sampling/chain.h"
#include "sampling/params.h"
#include "sampling/support.h"
#include "sampling/types.h"

namespace tokendraw::sampling {

// Whether XTC may act on the draws of this row, so that a coin is thrown for each.
bool MayXtc(const Params& params, const RowInput& row);

class Outcome {
 public:
  // Steps 4 and 5, on the survivors of steps 1-3 that `start` sets. Returns false if candidates
  // cannot decide it: the rest of this object means nothing then.
  bool Make(const Params& params, const RowInput& row, bool xtc_acts,
            absl::FunctionRef<void(Support&)> start, StageWatcher watch = IgnoreStage);

  // What the draw is made from ...
  Support& kept() { return kept_; }
  // ... and the same survivors with the probabilities it is made with.
  Support& drawn_from() { return adapts_ ? adapted_ : kept_; }
  bool greedy() const { return greedy_; }
  bool xtc_applied() const { return xtc_applied_; }

  int32_t Token(const RandomKey& key, int32_t sample_index);
  // What mirostat and adaptive-p know after `token_id` was drawn.
  SamplerState StateAfter(const Params& params, const SamplerState& before, int32_t token_id);

 private:
  void ApplyGreedy(const Params& params, bool xtc_acts, StageWatcher watch);

  Support kept_;
  bool adapts_ = false;
  Support adapted_;  // if so
  bool xtc_applied_ = false;
  bool greedy_ = false;
  int32_t argmax_ = -1;  // if so, the token
};

}  // namespace tokendraw::sampling

#endif  // TOKENDRAW_SAMPLING_OUTCOME_H_
