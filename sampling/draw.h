// From survivors to a token.
#ifndef TOKENDRAW_SAMPLING_DRAW_H_
#define TOKENDRAW_SAMPLING_DRAW_H_

#include <cstdint>

#include "sampling/params.h"
#include "sampling/support.h"
#include "sampling/types.h"

namespace tokendraw::sampling {

// Gumbel-max: the survivor with the largest (x - m) - ln(-ln u), lowest id among equals.
int32_t DrawToken(const Support& support, const RandomKey& key, int32_t sample_index);

// Whether XTC acts on this draw: u < xtc_probability, with a coin of the draw's own.
bool XtcActs(const Params& params, const RandomKey& key, int32_t sample_index);

}  // namespace tokendraw::sampling

#endif  // TOKENDRAW_SAMPLING_DRAW_H_
