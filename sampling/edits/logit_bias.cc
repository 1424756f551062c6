#include "sampling/edits.h"

namespace tokendraw::sampling {

// x += bias.
void ApplyLogitBias(std::span<const LogitBias> biases, Patches& row) {
  for (const LogitBias& bias : biases) row.logit(bias.id) += bias.bias;
}

}  // namespace tokendraw::sampling
