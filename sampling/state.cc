#include "sampling/state.h"

#include <algorithm>
#include <limits>
#include <numbers>

#include "sampling/kernels.h"

namespace tokendraw::sampling {
namespace {

double AdaptiveSum(const Params& params, const SamplerState& state) {
  return state.adaptive_sum.value_or(params.adaptive_target / (1 - params.adaptive_decay));
}

double AdaptiveWeight(const Params& params, const SamplerState& state) {
  return state.adaptive_weight.value_or(1 / (1 - params.adaptive_decay));
}

}  // namespace

double MirostatMu(const Params& params, const SamplerState& state) {
  return state.mirostat_mu.value_or(2 * params.mirostat_tau);
}

double AdaptiveAim(const Params& params, const SamplerState& state) {
  const double weight = AdaptiveWeight(params, state);
  const double target = params.adaptive_target;
  const double average = weight > 0 ? AdaptiveSum(params, state) / weight : target;
  return std::clamp(2 * target - average, 0.0, 1.0);
}

SamplerState StateAfter(const Params& params, const SamplerState& state, double p) {
  SamplerState after;
  if (params.mirostat != 0) {
    const double surprise =
        -Log(std::max(p, std::numeric_limits<double>::min())) / std::numbers::ln2;
    after.mirostat_mu =
        MirostatMu(params, state) - params.mirostat_eta * (surprise - params.mirostat_tau);
  }
  if (params.adaptive_target >= 0) {
    after.adaptive_sum = p + params.adaptive_decay * AdaptiveSum(params, state);
    after.adaptive_weight = 1 + params.adaptive_decay * AdaptiveWeight(params, state);
  }
  return after;
}

}  // namespace tokendraw::sampling
