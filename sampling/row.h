// One row of float32 logits: as it came, then with the edits. Masked logits are -inf.
#ifndef TOKENDRAW_SAMPLING_ROW_H_
#define TOKENDRAW_SAMPLING_ROW_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sampling/types.h"

namespace tokendraw::sampling {

// Knows the largest logit of each block of kBlockSize tokens, so that whoever looks for large
// logits need not look at every token. Buffers are kept from row to row.
class FloatRow {
 public:
  // Reads `row`; tokens whose bit in `allowed_mask` (null: none) is 0 are masked. Unless
  // `for_edits` or masked, a float32 row stays where it is and must outlive this object's use.
  // Returns the first id whose logit came as NaN or +inf, or -1.
  int32_t Read(const LogitsRow& row, const std::byte* allowed_mask, bool for_edits);

  void CopyFrom(const FloatRow& other);

  std::span<const float> logits() const { return logits_; }  // V
  std::span<const float> block_max() const { return block_max_; }
  float max() const { return max_; }  // -inf if all are masked

  float logit(int32_t id) const { return logits_[static_cast<size_t>(id)]; }

  // Logits of a block; the last may be shorter.
  std::span<const float> block(size_t index) const;

  // Changes one logit. Only after Read for edits or CopyFrom; FinishEdits must follow.
  void Set(int32_t id, float logit);

  // Brings the maxima up to date. Returns the first id that Set made NaN or +inf, or -1.
  int32_t FinishEdits();

 private:
  void MakeRoom(size_t vocab_size);

  std::span<const float> logits_;
  std::vector<float> own_;  // whole blocks
  std::vector<float> block_max_;
  std::vector<uint8_t> stale_;     // by block: whether its largest logit was lowered
  int32_t first_not_finite_ = -1;  // of the edited
  float max_ = 0;
};

}  // namespace tokendraw::sampling

#endif  // TOKENDRAW_SAMPLING_ROW_H_
