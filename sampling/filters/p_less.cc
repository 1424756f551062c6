#include "sampling/filters.h"
#include "sampling/kernels.h"

namespace tokendraw::sampling {

// With q = e / Z, e = exp((x - m) / temperature): q >= sum q^2  <=>  e * Z >= sum e^2.
// Rounding can lift the sum above the largest q, hence "all tied with m".
void ApplyPLess(double temperature, int32_t min_keep, Support& support) {
  const double max = support.Max();
  const auto e = [=](const Candidate& token) { return Exp((token.logit - max) / temperature); };
  FixedOrderSum sum, squares;
  for (const Candidate& token : support.tokens()) {
    const double weight = e(token);
    sum.Add(weight);
    squares.Add(weight * weight);
  }
  const double z = sum.Total();
  const double sum_of_squares = squares.Total();
  support.KeepLargest(
      [=](const Candidate& token) { return token.logit == max || e(token) * z >= sum_of_squares; },
      min_keep);
}

}  // namespace tokendraw::sampling
