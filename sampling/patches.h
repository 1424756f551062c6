// What edits change of a row before it is read: the few tokens that they name.
#ifndef TOKENDRAW_SAMPLING_PATCHES_H_
#define TOKENDRAW_SAMPLING_PATCHES_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sampling/kernels.h"
#include "sampling/types.h"

namespace tokendraw::sampling {

// Buffers are kept from row to row.
class Patches {
 public:
  // Starts with none, on `row`, of which tokens whose bit in `allowed_mask` (null: none) is 0 are
  // masked. Both must outlive the use of this object.
  void Reset(const LogitsRow& row, const std::byte* allowed_mask);

  // Says that the logit of a token will be wanted: one wait for memory instead of one per token.
  void Prefetch(int32_t id) const;

  // The logit of a token as it is now; -inf if masked.
  float logit(int32_t id) const;

  void Set(int32_t id, float logit);

  // All that were set, by ascending id. Valid until Reset.
  std::span<const Patch> Sorted();

 private:
  bool IsSet(int32_t id) const;

  LogitsRow row_;
  const std::byte* allowed_mask_ = nullptr;
  bool any_ = false;
  std::vector<uint64_t> is_set_;  // one bit per token, if `any_`
  std::vector<float> logits_;     // by token, of those that are set
  std::vector<Patch> sorted_;
};

}  // namespace tokendraw::sampling

#endif  // TOKENDRAW_SAMPLING_PATCHES_H_
