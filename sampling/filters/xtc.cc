#include <algorithm>

#include "sampling/filters.h"
#include "sampling/kernels.h"

namespace tokendraw::sampling {

// A = tokens with p >= threshold. If A has two or more, remove all of A but its least probable
// (lowest id among equals); protected ids count in A and stay, or keep all of A. A row cannot be
// emptied: the least probable of A stays, and it is as legal as any survivor.
bool ApplyXtc(double threshold, std::span<const int32_t> protected_ids, const XtcRule& rule,
              int32_t min_keep, Support& support) {
  const double max = support.Max();
  const double sum = support.SumExp();
  const Support::Tokens above = support.FindLargest([&](double x) {
    const double p = Exp(x - max) / sum;
    return rule.above_threshold ? p > threshold : p >= threshold;
  });
  if (above.ids.size() < 2) return false;

  const auto least =
      std::min_element(above.logits.begin(), above.logits.end(),
                       [&](float a, float b) { return support.Value(a) < support.Value(b); });
  const int32_t kept_id = above.ids[static_cast<size_t>(least - above.logits.begin())];
  const auto is_protected = [&](int32_t id) {
    return std::find(protected_ids.begin(), protected_ids.end(), id) != protected_ids.end();
  };
  const auto stays = [&](int32_t id) { return id == kept_id || is_protected(id); };
  const auto stops_it = [&](int32_t id) { return id != kept_id && is_protected(id); };
  if (rule.protected_stop_it && std::ranges::any_of(above.ids, stops_it)) return false;
  const auto removed = static_cast<size_t>(
      std::count_if(above.ids.begin(), above.ids.end(), [&](int32_t id) { return !stays(id); }));
  if (removed == 0) return false;
  if (min_keep > 1 && support.Size() - removed < static_cast<size_t>(min_keep)) return false;

  support.RemoveIf(above, [&](int32_t id) { return !stays(id); });
  return true;
}

}  // namespace tokendraw::sampling
