#include "sampling/filters.h"
#include "sampling/kernels.h"

namespace tokendraw::sampling {

// p >= min_p * p_max  <=>  e^(x - m) >= min_p.
void ApplyMinP(double min_p, int32_t min_keep, Support& support) {
  if (min_p == 0) return;
  const double max = support.Max();
  support.KeepLargest([=](double x) { return Exp(x - max) >= min_p; }, min_keep);
}

}  // namespace tokendraw::sampling
