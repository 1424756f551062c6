#include "sampling/row.h"

#include <algorithm>

namespace tokendraw::sampling {
namespace {

// The first id with NaN or +inf: as the row came, and then as `patches` leave it.
int32_t FindNotFinite(const LogitsRow& row, std::span<const Patch> patches) {
  RowBytes bytes(row);
  for (int32_t id = 0; id < row.vocab_size; ++id) {
    if (!IsFinite(ReadLogit(bytes, id))) return id;
  }
  const auto found = std::ranges::find_if_not(patches, IsFinite, &Patch::logit);
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
  bytes_ = RowBytes(row);
  allowed_mask_ = allowed_mask;

  own_.resize(std::max(own_.size(), count * kBlockSize));
  const RowScan scan =
      ReadRow(row, allowed_mask, patches, request, own_.data(), blocks_, block_max_);
  max_ = scan.max;
  sums_ = scan.sums;
  return scan.finite ? -1 : FindNotFinite(row, patches);
}

void FloatRow::CopyPatched(const FloatRow& other, std::span<const Patch> patches) {
  vocab_size_ = other.vocab_size_;
  blocks_ = other.blocks_;
  block_max_ = other.block_max_;
  bytes_ = other.bytes_;
  allowed_mask_ = other.allowed_mask_;
  sums_.reset();
  own_.resize(std::max(own_.size(), blocks_.size() * kBlockSize));
  for (size_t i = 0; i < patches.size();) {
    const size_t index = static_cast<size_t>(patches[i].id) / kBlockSize;
    float* const copy = &own_[index * kBlockSize];
    std::copy_n(other.Decoded(index), kBlockSize, copy);
    for (; i < patches.size() && static_cast<size_t>(patches[i].id) / kBlockSize == index; ++i) {
      copy[static_cast<size_t>(patches[i].id) % kBlockSize] = patches[i].logit;
    }
    blocks_[index] = copy;
    block_max_[index] = ListMax({copy, kBlockSize});
  }
  max_ = *std::ranges::max_element(block_max_);
}

Blocks FloatRow::blocks() const {
  for (size_t index = 0; index < blocks_.size(); ++index) (void)Decoded(index);
  return blocks_;
}

const float* FloatRow::Decoded(size_t index) const {
  if (blocks_[index] == nullptr) {
    float* const own = &own_[index * kBlockSize];
    ReadBlock(bytes_, allowed_mask_, index, own);
    blocks_[index] = own;
  }
  return blocks_[index];
}

std::span<const float> FloatRow::block(size_t index) const {
  return {Decoded(index), std::min(kBlockSize, vocab_size_ - index * kBlockSize)};
}

}  // namespace tokendraw::sampling
