#include "sampling/patches.h"

#include <bit>

namespace tokendraw::sampling {
namespace {

constexpr size_t kWordBits = 64;

}  // namespace

void Patches::Reset(int32_t vocab_size) {
  vocab_size_ = vocab_size;
  is_named_.clear();
  patches_.clear();
}

void Patches::Name(int32_t id) {
  is_named_.resize((static_cast<size_t>(vocab_size_) + kWordBits - 1) / kWordBits);
  const auto index = static_cast<size_t>(id);
  is_named_[index / kWordBits] |= uint64_t{1} << (index % kWordBits);
}

void Patches::ListNames() {
  before_.resize(is_named_.size());
  for (size_t word = 0; word < is_named_.size(); ++word) {
    before_[word] = static_cast<uint32_t>(patches_.size());
    for (uint64_t bits = is_named_[word]; bits != 0; bits &= bits - 1) {
      const size_t index = word * kWordBits + static_cast<size_t>(std::countr_zero(bits));
      patches_.push_back({.id = static_cast<int32_t>(index)});
    }
  }
}

void Patches::Gather(const LogitsRow& row, const std::byte* allowed_mask) {
  ListNames();
  RowBytes ahead(row);
  for (const Patch& patch : patches_) {  // one wait for memory instead of one per token
    ahead.Seek(static_cast<size_t>(patch.id) * ElementSize(row.type));
    __builtin_prefetch(ahead.Here().data());
  }
  RowBytes bytes(row);
  for (Patch& patch : patches_) {
    patch.logit = IsAllowed(allowed_mask, patch.id) ? ReadLogit(bytes, patch.id) : kMasked;
  }
}

void Patches::Gather(std::span<const int32_t> ids, std::span<const float> logits, float otherwise,
                     const std::byte* allowed_mask) {
  ListNames();
  size_t next = 0;
  for (Patch& patch : patches_) {
    while (next < ids.size() && ids[next] < patch.id) ++next;
    const bool is_listed = next < ids.size() && ids[next] == patch.id;
    patch.logit = is_listed ? logits[next] : otherwise;
    if (!IsAllowed(allowed_mask, patch.id)) patch.logit = kMasked;
  }
}

float& Patches::logit(int32_t id) {
  const auto index = static_cast<size_t>(id);
  const uint64_t smaller = (uint64_t{1} << (index % kWordBits)) - 1;
  const size_t word = index / kWordBits;
  const auto rank = static_cast<size_t>(std::popcount(is_named_[word] & smaller));
  return patches_[before_[word] + rank].logit;
}

}  // namespace tokendraw::sampling
