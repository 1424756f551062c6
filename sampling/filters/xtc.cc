#include <algorithm>

#include "sampling/filters.h"
#include "sampling/kernels.h"

namespace tokendraw::sampling {

// A = tokens with p >= threshold. If A has two or more, remove all of A but its least probable
// (lowest id among equals); protected ids count in A and stay. A row cannot be emptied: the least
// probable of A stays, and it is as legal as any survivor.
bool ApplyXtc(double threshold, std::span<const int32_t> protected_ids, int32_t min_keep,
              Support& support) {
  const Softmax softmax = support.ComputeSoftmax();
  const auto is_above = [&](const Candidate& token) {
    return Exp(token.logit - softmax.max) / softmax.sum >= threshold;
  };
  const auto is_protected = [&](int32_t id) {
    return std::find(protected_ids.begin(), protected_ids.end(), id) != protected_ids.end();
  };

  const Candidate* least = nullptr;
  size_t above = 0, removable = 0;
  for (const Candidate& token : support.tokens()) {
    if (!is_above(token)) continue;
    ++above;
    if (!is_protected(token.id)) ++removable;
    if (least == nullptr || token.logit < least->logit) least = &token;
  }
  if (above < 2) return false;
  const int32_t kept_id = least->id;
  if (!is_protected(kept_id)) --removable;
  if (removable == 0 || support.size() - removable < static_cast<size_t>(min_keep)) return false;

  support.Remove([&](const Candidate& token) {
    return token.id != kept_id && is_above(token) && !is_protected(token.id);
  });
  return true;
}

}  // namespace tokendraw::sampling
