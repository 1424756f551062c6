#include "sampling/row.h"

#include <algorithm>
#include <limits>

namespace tokendraw::sampling {
namespace {

constexpr float kMasked = -std::numeric_limits<float>::infinity();

// The first id with NaN or +inf: as the row came, and then as `patches` leave it.
int32_t FindNotFinite(const LogitsRow& row, std::span<const Patch> patches) {
  for (int32_t id = 0; id < row.vocab_size; ++id) {
    if (!(ReadLogit(row, id) <= std::numeric_limits<float>::max())) return id;
  }
  const auto found = std::ranges::find_if_not(
      patches, [](const Patch& patch) { return patch.logit <= std::numeric_limits<float>::max(); });
  return found == patches.end() ? -1 : found->id;
}

}  // namespace

int32_t FloatRow::Read(const LogitsRow& row, const std::byte* allowed_mask,
                       std::span<const Patch> patches, const SumRequest& request) {
  vocab_size_ = static_cast<size_t>(row.vocab_size);
  const size_t count = BlockCount(vocab_size_);
  blocks_.resize(count);
  block_max_.resize(count);
  request_ = request;

  const bool in_place = row.type == DataType::kF32 && allowed_mask == nullptr && patches.empty() &&
                        reinterpret_cast<uintptr_t>(row.data) % alignof(float) == 0;
  RowScan scan;
  if (in_place) {
    const auto* logits = static_cast<const float*>(row.data);
    for (size_t i = 0; i < count; ++i) blocks_[i] = logits + i * kBlockSize;
    if (const size_t rest = vocab_size_ % kBlockSize; rest > 0) {
      last_.fill(kMasked);
      std::copy_n(blocks_.back(), rest, last_.begin());
      blocks_.back() = last_.data();
    }
    scan = ScanRow(blocks_, request, block_max_);
  } else {
    own_.resize(std::max(own_.size(), count * kBlockSize));
    for (size_t i = 0; i < count; ++i) blocks_[i] = &own_[i * kBlockSize];
    scan = ReadRow(row, allowed_mask, patches, request, own_.data(), block_max_);
  }
  max_ = scan.max;
  sums_ = scan.sums;
  return scan.finite ? -1 : FindNotFinite(row, patches);
}

void FloatRow::CopyWithout(std::span<const int32_t> ids, const FloatRow& other) {
  vocab_size_ = other.vocab_size_;
  blocks_ = other.blocks_;
  block_max_ = other.block_max_;
  sums_.reset();
  own_.resize(std::max(own_.size(), std::min(ids.size(), blocks_.size()) * kBlockSize));
  float* copy = own_.data();
  for (size_t i = 0; i < ids.size();) {
    const size_t index = static_cast<size_t>(ids[i]) / kBlockSize;
    std::copy_n(blocks_[index], kBlockSize, copy);
    for (; i < ids.size() && static_cast<size_t>(ids[i]) / kBlockSize == index; ++i) {
      copy[static_cast<size_t>(ids[i]) % kBlockSize] = kMasked;
    }
    blocks_[index] = copy;
    block_max_[index] = *std::max_element(copy, copy + kBlockSize);
    copy += kBlockSize;
  }
  max_ = *std::ranges::max_element(block_max_);
}

std::span<const float> FloatRow::block(size_t index) const {
  return {blocks_[index], std::min(kBlockSize, vocab_size_ - index * kBlockSize)};
}

}  // namespace tokendraw::sampling
