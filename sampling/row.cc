#include "sampling/row.h"

#include <algorithm>

namespace tokendraw::sampling {
namespace {

// The first id with NaN or +inf: as the row came, and then as `patches` leave it.
int32_t FindNotFinite(const LogitsRow& row, std::span<const Patch> patches) {
  for (int32_t id = 0; id < row.vocab_size; ++id) {
    if (!IsFinite(ReadLogit(row, id))) return id;
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
  sums_.reset();
  own_.resize(std::max(own_.size(), std::min(patches.size(), blocks_.size()) * kBlockSize));
  float* copy = own_.data();
  for (size_t i = 0; i < patches.size();) {
    const size_t index = static_cast<size_t>(patches[i].id) / kBlockSize;
    std::copy_n(blocks_[index], kBlockSize, copy);
    for (; i < patches.size() && static_cast<size_t>(patches[i].id) / kBlockSize == index; ++i) {
      copy[static_cast<size_t>(patches[i].id) % kBlockSize] = patches[i].logit;
    }
    blocks_[index] = copy;
    block_max_[index] = ListMax({copy, kBlockSize});
    copy += kBlockSize;
  }
  max_ = *std::ranges::max_element(block_max_);
}

std::span<const float> FloatRow::block(size_t index) const {
  return {blocks_[index], std::min(kBlockSize, vocab_size_ - index * kBlockSize)};
}

}  // namespace tokendraw::sampling
