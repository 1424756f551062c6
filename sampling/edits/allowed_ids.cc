#include "sampling/edits.h"

namespace tokendraw::sampling {

// A token is allowed if its bit in `mask` is 1 and it is in `allowed_ids`.
std::optional<std::span<const std::byte>> JoinAllowedIds(
    std::optional<std::span<const std::byte>> mask, std::span<const int32_t> allowed_ids,
    int32_t vocab_size, EditBuffers& buffers) {
  if (allowed_ids.empty()) return mask;
  const std::byte* const bits = mask.has_value() ? mask->data() : nullptr;
  std::vector<std::byte>& joined = buffers.allowed_mask;
  joined.assign((static_cast<size_t>(vocab_size) + 31) / 32 * 4, std::byte{0});
  for (const int32_t id : allowed_ids) {
    if (IsAllowed(bits, id)) joined[static_cast<size_t>(id) / 8] |= std::byte{1} << (id % 8);
  }
  return joined;
}

}  // namespace tokendraw::sampling
