#include <limits>

#include "sampling/edits.h"

namespace tokendraw::sampling {

// In little-endian words, bit (id mod 32) of word (id / 32) is bit (id mod 8) of byte (id / 8).
void ApplyAllowedMask(std::span<const std::byte> mask, std::span<float> logits) {
  for (size_t id = 0; id < logits.size(); ++id) {
    const bool allowed = std::to_integer<bool>(mask[id / 8] >> (id % 8) & std::byte{1});
    if (!allowed) logits[id] = -std::numeric_limits<float>::infinity();
  }
}

}  // namespace tokendraw::sampling
