// The few tokens of a row that edits name, and their logits before the row is read.
#ifndef TOKENDRAW_SAMPLING_PATCHES_H_
#define TOKENDRAW_SAMPLING_PATCHES_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sampling/kernels.h"
#include "sampling/types.h"

namespace tokendraw::sampling {

// Whether the token's bit in `mask` (null: all are) is 1.
inline bool IsAllowed(const std::byte* mask, int32_t id) {
  const auto index = static_cast<size_t>(id);
  return mask == nullptr || (mask[index / 8] >> (index % 8) & std::byte{1}) != std::byte{0};
}

// In turn: Reset, Name, Gather, and then the edits. Buffers are kept from row to row.
class Patches {
 public:
  // Forgets all names.
  void Reset(int32_t vocab_size);

  // Names a token; again is nothing.
  void Name(int32_t id);

  // Reads the logits of the named tokens from `row`; -inf if the bit in `allowed_mask` (null: none)
  // is 0.
  void Gather(const LogitsRow& row, const std::byte* allowed_mask);

  // The same, from `logits` of `ids` (ascending); of the other tokens, `otherwise`.
  void Gather(std::span<const int32_t> ids, std::span<const float> logits, float otherwise,
              const std::byte* allowed_mask);

  // Of a named token, to be changed.
  float& logit(int32_t id);

  // All that are named, by ascending id.
  std::span<const Patch> sorted() const { return patches_; }

 private:
  void ListNames();

  int32_t vocab_size_ = 0;
  std::vector<uint64_t> is_named_;  // one bit per token; empty if none is named
  std::vector<uint32_t> before_;    // by word of is_named_: tokens named in the words before
  std::vector<Patch> patches_;
};

}  // namespace tokendraw::sampling

#endif  // TOKENDRAW_SAMPLING_PATCHES_H_
