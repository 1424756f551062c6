#include "sampling/row.h"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "sampling/kernels.h"

namespace tokendraw::sampling {

void FloatRow::MakeRoom(size_t vocab_size) {
  own_.resize(BlockCount(vocab_size) * kBlockSize);
  logits_ = std::span(own_).first(vocab_size);
}

int32_t FloatRow::Read(const LogitsRow& row, const std::byte* allowed_mask, bool for_edits) {
  const auto size = static_cast<size_t>(row.vocab_size);
  block_max_.resize(BlockCount(size));
  stale_.assign(block_max_.size(), 0);
  first_not_finite_ = -1;

  const bool in_place = row.type == DataType::kF32 && !for_edits && allowed_mask == nullptr &&
                        reinterpret_cast<uintptr_t>(row.data) % alignof(float) == 0;
  RowScan scan;
  if (in_place) {
    logits_ = {static_cast<const float*>(row.data), size};
    scan = ScanRow(logits_, block_max_);
  } else {
    MakeRoom(size);
    scan = ReadRow(row, allowed_mask, own_.data(), block_max_);
  }
  max_ = scan.max;
  if (scan.finite) return -1;
  if (allowed_mask != nullptr) ReadRow(row, nullptr, own_.data(), block_max_);
  return FirstNotFinite(logits_);
}

void FloatRow::CopyFrom(const FloatRow& other) {
  MakeRoom(other.logits_.size());
  std::copy(other.logits_.begin(), other.logits_.end(), own_.begin());
  block_max_ = other.block_max_;
  stale_.assign(block_max_.size(), 0);
  first_not_finite_ = -1;
  max_ = other.max_;
}

std::span<const float> FloatRow::block(size_t index) const {
  const size_t first = index * kBlockSize;
  return logits_.subspan(first, std::min(kBlockSize, logits_.size() - first));
}

void FloatRow::Set(int32_t id, float logit) {
  float& place = own_[static_cast<size_t>(id)];
  const size_t index = static_cast<size_t>(id) / kBlockSize;
  if (!(logit <= std::numeric_limits<float>::max())) {
    if (first_not_finite_ < 0 || id < first_not_finite_) first_not_finite_ = id;
  } else if (logit >= block_max_[index]) {
    block_max_[index] = logit;
  } else if (place == block_max_[index]) {
    stale_[index] = 1;
  }
  place = logit;
}

int32_t FloatRow::FinishEdits() {
  if (first_not_finite_ >= 0) return first_not_finite_;
  for (size_t index = 0; index < block_max_.size(); ++index) {
    if (stale_[index] == 0) continue;
    stale_[index] = 0;
    ScanRow(block(index), std::span(block_max_).subspan(index, 1));
  }
  max_ = *std::max_element(block_max_.begin(), block_max_.end());
  return -1;
}

}  // namespace tokendraw::sampling
