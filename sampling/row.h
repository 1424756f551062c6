// One row of float32 logits, with the edits. Masked logits are -inf.
#ifndef TOKENDRAW_SAMPLING_ROW_H_
#define TOKENDRAW_SAMPLING_ROW_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sampling/kernels.h"
#include "sampling/types.h"

namespace tokendraw::sampling {

// Blocks of kBlockSize tokens, each where it is: in the memory of the caller, or in this object's,
// which is kept from row to row. Knows the largest logit of each block, so that whoever looks for
// large logits need not look at every token; blocks that nobody looks at are not even decoded to
// memory.
class FloatRow {
 public:
  FloatRow() = default;
  FloatRow(const FloatRow&) = delete;
  FloatRow& operator=(const FloatRow&) = delete;

  // Reads `row` in one pass, with `patches` (ascending by id) in place and tokens masked whose bit
  // in `allowed_mask` (null: none) is 0. Blocks of a float32 row that nothing changes stay where
  // they are. The row and the mask must outlive this object's use. Returns the first id whose logit
  // came as NaN or +inf; then the first whose patch is; or -1.
  int32_t Read(const LogitsRow& row, const std::byte* allowed_mask, std::span<const Patch> patches,
               const SumRequest& request);

  // Becomes `other` with `patches` (ascending by id) in place, without sums. `other` must outlive
  // this object's use.
  void CopyPatched(const FloatRow& other, std::span<const Patch> patches);

  size_t vocab_size() const { return vocab_size_; }
  Blocks blocks() const;
  std::span<const float> block_max() const { return block_max_; }
  float max() const { return max_; }  // -inf if all are masked

  float logit(int32_t id) const {
    return Decoded(static_cast<size_t>(id) / kBlockSize)[static_cast<size_t>(id) % kBlockSize];
  }

  // Logits of a block; the last may be shorter.
  std::span<const float> block(size_t index) const;

  // What Read was asked to sum up, and the sums if they came with the reading.
  const SumRequest& request() const { return request_; }
  const std::optional<RowSums>& sums() const { return sums_; }

 private:
  const float* Decoded(size_t index) const;

  size_t vocab_size_ = 0;
  std::vector<float> block_max_;
  // Mutable: a block that is null is decoded to own_ when it is first asked for.
  mutable std::vector<const float*> blocks_;
  mutable std::vector<float> own_;  // blocks that are not elsewhere
  mutable RowBytes bytes_;
  const std::byte* allowed_mask_ = nullptr;
  float max_ = 0;
  SumRequest request_;
  std::optional<RowSums> sums_;
};

}  // namespace tokendraw::sampling

#endif  // TOKENDRAW_SAMPLING_ROW_H_
