#include "sampling/outcome.h"

#include <algorithm>

#include "sampling/draw.h"
#include "sampling/kernels.h"
#include "sampling/profile.h"
#include "sampling/state.h"

namespace tokendraw::sampling {

bool MayXtc(const Params& params, const RowInput& row) {
  const bool is_constrained = row.allowed_mask.has_value() || !params.allowed_ids.empty();
  if (is_constrained && params.xtc_skip_constrained) return false;
  if (!IsGreedy(params)) return true;
  return RulesOf(params.profile).greedy == Greedy::kTemperatureOrTopKButXtc &&
         std::ranges::find(params.chain, Filter::kXtc) != params.chain.end();
}

// The argmax, which top_k 1 keeps alone and temperature 0 leaves among all others. These only
// details tell; without, an open list need not know them.
void Outcome::ApplyGreedy(const Params& params, bool xtc_acts, StageWatcher watch) {
  if (xtc_acts) {
    xtc_applied_ = ApplyXtcAlone(params, kept_);
    watch(Filter::kXtc, kept_);
  }
  const bool detail = params.WantsDetail();
  if (detail ? params.temperature != 0 : kept_.is_open()) kept_.KeepFirst(1, 1);
  argmax_ = kept_.Argmax();
}

bool Outcome::Make(const Params& params, const RowInput& row, bool xtc_acts,
                   absl::FunctionRef<void(Support&)> start, StageWatcher watch) {
  greedy_ = IsGreedy(params);
  xtc_applied_ = false;
  start(kept_);
  if (greedy_) {
    ApplyGreedy(params, xtc_acts, watch);
  } else {
    xtc_applied_ = ApplyFilters(params, row, xtc_acts, kept_, watch);
  }
  const bool can_tell = !kept_.is_open() && !kept_.undecided();
  adapts_ = can_tell && !greedy_ && Adapts(params);
  if (adapts_) {
    adapted_.CopyFrom(kept_);
    Adapt(params, row, adapted_);
    watch(Filter::kAdaptiveP, adapted_);
  }
  return can_tell;
}

int32_t Outcome::Token(const RandomKey& key, int32_t sample_index) {
  return greedy_ ? argmax_ : DrawToken(drawn_from(), key, sample_index);
}

SamplerState Outcome::StateAfter(const Params& params, const SamplerState& before,
                                 int32_t token_id) {
  if (greedy_) return before;
  const double x = kept_.Value(*kept_.Find(token_id));
  return sampling::StateAfter(params, before, Exp(x - kept_.Max()) / kept_.SumExp());
}

}  // namespace tokendraw::sampling
