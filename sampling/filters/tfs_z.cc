#include <cmath>
#include <limits>
#include <span>

#include "sampling/filters.h"
#include "sampling/kernels.h"

namespace tokendraw::sampling {
namespace {

// How many tokens stay: the first, and one for each beginning of `curvature` that adds up to at
// most `limit`.
size_t CountKept(std::span<const double> curvature, double limit) {
  size_t kept = 1;
  double sum = 0;
  for (const double d : curvature) {
    sum += d;
    if (sum > limit) break;
    ++kept;
  }
  return kept;
}

}  // namespace

// By (p descending), d_i = abs((p_i - p_i+1) - (p_i+1 - p_i+2)): token j > 0 stays if d_0 to d_j-1
// add up to at most tfs_z of all d, which j = n - 1 never does. A common factor of all p drops out,
// so e = e^(x - m) stands for p.
//
// Tokens after the first few move the sum of all d by little: their e fall from e_last to 0, and so
// the d that are not known add up to at most e_last-1 + e_last. The few tell, unless the cut is as
// near as that.
void ApplyTfsZ(double tfs_z, int32_t min_keep, Support& support) {
  if (tfs_z == 1) return;
  constexpr double kWhole = std::numeric_limits<double>::infinity();
  const double max = support.Max();
  for (double reach = support.is_list() ? kWhole : 6;; reach = reach < 40 ? 2 * reach : kWhole) {
    const std::span<double> e = support.DescendingWithin(reach);
    const bool is_all = reach == kWhole && !support.is_open();
    if (is_all && e.size() < 3) return;
    if (e.size() >= 3) {
      for (double& x : e) x = Exp(x - max);
      const double beyond = is_all ? 0 : e[e.size() - 2] + e[e.size() - 1];
      const std::span<double> d = e.first(e.size() - 2);
      double known = 0;
      for (size_t i = 0; i < d.size(); ++i) {
        d[i] = std::abs((e[i] - e[i + 1]) - (e[i + 1] - e[i + 2]));
        known += d[i];
      }
      if (is_all && known == 0) return;
      const size_t kept = CountKept(d, tfs_z * known);
      const bool is_certain =
          is_all || (kept <= d.size() && kept == CountKept(d, tfs_z * (known + beyond)));
      if (is_certain) return support.KeepFirst(static_cast<int32_t>(kept), min_keep);
    }
    if (reach == kWhole) return support.Undecide();
  }
}

}  // namespace tokendraw::sampling
