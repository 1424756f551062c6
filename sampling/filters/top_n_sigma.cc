#include "sampling/filters.h"

namespace tokendraw::sampling {

// Keep x >= m - n * sigma.
void ApplyTopNSigma(double top_n_sigma, int32_t min_keep, Support& support) {
  if (top_n_sigma == 0) return;
  const double lowest = support.Max() - top_n_sigma * support.Stddev();
  support.KeepLargest([=](double x) { return x >= lowest; }, min_keep);
}

}  // namespace tokendraw::sampling
