#include "sampling/filters.h"
#include "sampling/kernels.h"

namespace tokendraw::sampling {

// With q = e / Z, e = exp((x - m) / temperature), n survivors:
// q >= (n * sum q^2 - 1) / (n - 1)  <=>  e * Z * (n - 1) >= n * sum e^2 - Z^2.
// Rounding can lift that above the largest q, hence "all tied with m".
void ApplyPLessNorm(double temperature, int32_t min_keep, Support& support) {
  const double max = support.Max();
  const auto count = static_cast<double>(support.Size());
  const Support::SquaredSums sums = support.SumExpSquared(temperature);
  const double least = count * sums.squares - sums.exp * sums.exp;
  support.KeepLargest(
      [=](double x) {
        return x == max || Exp((x - max) / temperature) * sums.exp * (count - 1) >= least;
      },
      min_keep);
}

}  // namespace tokendraw::sampling
