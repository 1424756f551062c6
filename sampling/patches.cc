#include "sampling/patches.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace tokendraw::sampling {
namespace {

constexpr size_t kWordBits = 64;

bool Bit(const std::byte* bits, size_t index) {
  return (bits[index / 8] >> (index % 8) & std::byte{1}) != std::byte{0};
}

}  // namespace

void Patches::Reset(const LogitsRow& row, const std::byte* allowed_mask) {
  row_ = row;
  allowed_mask_ = allowed_mask;
  any_ = false;
}

bool Patches::IsSet(int32_t id) const {
  const auto index = static_cast<size_t>(id);
  return any_ && (is_set_[index / kWordBits] >> (index % kWordBits) & 1) != 0;
}

void Patches::Prefetch(int32_t id) const {
  __builtin_prefetch(static_cast<const std::byte*>(row_.data) +
                     static_cast<size_t>(id) * ElementSize(row_.type));
}

float Patches::logit(int32_t id) const {
  const auto index = static_cast<size_t>(id);
  if (IsSet(id)) return logits_[index];
  if (allowed_mask_ != nullptr && !Bit(allowed_mask_, index)) {
    return -std::numeric_limits<float>::infinity();
  }
  return ReadLogit(row_, id);
}

void Patches::Set(int32_t id, float logit) {
  if (!any_) {
    const auto size = static_cast<size_t>(row_.vocab_size);
    is_set_.assign((size + kWordBits - 1) / kWordBits, 0);
    logits_.resize(std::max(logits_.size(), size));
    any_ = true;
  }
  const auto index = static_cast<size_t>(id);
  is_set_[index / kWordBits] |= uint64_t{1} << (index % kWordBits);
  logits_[index] = logit;
}

std::span<const Patch> Patches::Sorted() {
  sorted_.clear();
  if (!any_) return sorted_;
  for (size_t word = 0; word < is_set_.size(); ++word) {
    for (uint64_t bits = is_set_[word]; bits != 0; bits &= bits - 1) {
      const size_t index = word * kWordBits + static_cast<size_t>(std::countr_zero(bits));
      sorted_.push_back({static_cast<int32_t>(index), logits_[index]});
    }
  }
  return sorted_;
}

}  // namespace tokendraw::sampling
