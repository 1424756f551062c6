#include "sampling/filters.h"
#include "sampling/kernels.h"

namespace tokendraw::sampling {

// With p = e / Z, e = e^(x - m), and so 1 / Z the largest p: p >= top_a / Z^2  <=>  e * Z >= top_a.
void ApplyTopA(double top_a, int32_t min_keep, Support& support) {
  if (top_a == 0) return;
  const double max = support.Max();
  const double sum = support.SumExp();
  support.KeepLargest([=](double x) { return Exp(x - max) * sum >= top_a; }, min_keep);
}

}  // namespace tokendraw::sampling
