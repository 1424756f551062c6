#include "sampling/edits.h"

namespace tokendraw::sampling {

// x += bias; -inf bans.
void ApplyLogitBias(std::span<const LogitBias> biases, std::span<float> logits) {
  for (const LogitBias& bias : biases) logits[bias.id] += bias.bias;
}

}  // namespace tokendraw::sampling
