// The largest logits of a row in place of all of them, and what the others may add to its sums.
#ifndef TOKENDRAW_SAMPLING_CANDIDATES_H_
#define TOKENDRAW_SAMPLING_CANDIDATES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sampling/kernels.h"
#include "sampling/types.h"

namespace tokendraw::sampling {

// A number is somewhere in [low, high].
struct Interval {
  double low, high;
};

// The tokens of a row that are not listed.
struct Outside {
  float floor = 0;    // none has a larger logit; finite
  int32_t count = 0;  // there are at most so many

  // Their part of the row's sums, of y = x - pivot. Nothing: unknown.
  float pivot = 0;
  std::optional<Interval> exp;       // sum of e^y
  std::optional<Interval> weighted;  // sum of y e^y
  std::optional<Interval> squared;   // sum of e^2y
  // Of the whole row: population standard deviation of x.
  std::optional<Interval> stddev;
};

// In turn: Read, and Edit unless complete. Buffers are kept from row to row.
class Candidates {
 public:
  // Takes over `row`, of `vocab_size` tokens. kNotFinite or kBadSummary if it is not in order.
  RowError Read(const CandidateRow& row, int32_t vocab_size);

  // Whether all other tokens of the row are masked: then CopyTo gives the row.
  bool IsComplete() const;

  // Whether they would be with `allowed_mask`.
  bool IsCompleteWith(std::span<const std::byte> allowed_mask) const;

  // Makes `row` a row of all tokens, of which the others are masked.
  void CopyTo(std::vector<float>& row) const;

  // Puts `patches` (ascending by id) in place and takes out what is masked. Edits never turn the
  // order of logits around: a patch of a token that is not listed is what they make of the floor,
  // and so a bound of what they make of the token. kNotFinite as for rows; kNeedFullRow if that
  // cannot be told, or if nothing is left in the list.
  RowError Edit(std::span<const Patch> patches, const std::byte* allowed_mask);

  // What is listed: ids ascend; logits are not masked, unless complete.
  std::span<const int32_t> ids() const { return ids_; }
  std::span<const float> logits() const { return logits_; }
  const Outside& outside() const { return outside_; }

 private:
  void BoundOutside(const CandidateRow& row, const RowSums& listed);

  int32_t vocab_size_ = 0;
  std::vector<int32_t> ids_;
  std::vector<float> logits_;
  Outside outside_;
  std::vector<double> weights_;
};

}  // namespace tokendraw::sampling

#endif  // TOKENDRAW_SAMPLING_CANDIDATES_H_
