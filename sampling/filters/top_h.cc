#include <algorithm>
#include <span>

#include "sampling/filters.h"
#include "sampling/kernels.h"

namespace tokendraw::sampling {

// Of the 100 first, with q = e / Z, e = e^(x - m): -q ln q = (e / Z) * (ln Z - (x - m)). Keep the
// first, and the others while the sum up to and with a token is <= top_h times the sum of all.
void ApplyTopH(double top_h, int32_t min_keep, Support& support) {
  if (top_h == 0) return;
  constexpr size_t kFirst = 100;
  const double max = support.Max();
  const std::span<const double> values = support.Descending(kFirst);
  double sum = 0;
  for (const double x : values) sum += Exp(x - max);
  const double log_sum = Log(sum);
  const auto entropy = [=](double x) { return Exp(x - max) / sum * (log_sum - (x - max)); };
  double total = 0;
  for (const double x : values) total += entropy(x);
  double with = entropy(max);
  size_t kept = 1;
  for (; kept < values.size(); ++kept) {
    with += entropy(values[kept]);
    if (with > top_h * total) break;
  }
  support.KeepFirst(static_cast<int32_t>(kept), min_keep);
}

}  // namespace tokendraw::sampling
