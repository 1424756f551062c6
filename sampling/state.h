// What goes from one step of a sequence to the next. The caller carries it.
#ifndef TOKENDRAW_SAMPLING_STATE_H_
#define TOKENDRAW_SAMPLING_STATE_H_

#include "sampling/params.h"
#include "sampling/types.h"

namespace tokendraw::sampling {

// mu of mirostat: 2 * tau at the beginning.
double MirostatMu(const Params& params, const SamplerState& state);

// The probability that adaptive-p prefers now: 2 * target - (average of what was drawn), in [0, 1].
// The target at the beginning.
double AdaptiveAim(const Params& params, const SamplerState& state);

// The state after a token of probability `p` was drawn, p in (0, 1] among the survivors:
// mu -= eta * (-log2 p - tau); sum := p + decay * sum, weight := 1 + decay * weight.
SamplerState StateAfter(const Params& params, const SamplerState& state, double p);

}  // namespace tokendraw::sampling

#endif  // TOKENDRAW_SAMPLING_STATE_H_
