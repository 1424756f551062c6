#include "sampling/filters.h"
#include "sampling/kernels.h"

namespace tokendraw::sampling {

// p >= epsilon_cutoff  <=>  e^(x - m) >= epsilon_cutoff * Z; and all tied with m.
void ApplyEpsilonCutoff(double epsilon_cutoff, int32_t min_keep, Support& support) {
  if (epsilon_cutoff == 0) return;
  const double max = support.Max();
  const double sum = support.SumExp();
  support.KeepLargest([=](double x) { return x == max || Exp(x - max) >= epsilon_cutoff * sum; },
                      min_keep);
}

}  // namespace tokendraw::sampling
