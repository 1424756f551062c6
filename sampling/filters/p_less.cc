#include "sampling/filters.h"
#include "sampling/kernels.h"

namespace tokendraw::sampling {

// With q = e / Z, e = exp((x - m) / temperature): q >= sum q^2  <=>  e * Z >= sum e^2.
// Rounding can lift the sum above the largest q, hence "all tied with m".
void ApplyPLess(double temperature, int32_t min_keep, Support& support) {
  const double max = support.Max();
  const Support::SquaredSums sums = support.SumExpSquared(temperature);
  support.KeepLargest(
      [=](double x) { return x == max || Exp((x - max) / temperature) * sums.exp >= sums.squares; },
      min_keep);
}

}  // namespace tokendraw::sampling
