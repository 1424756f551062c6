#include <algorithm>
#include <limits>

#include "sampling/filters.h"
#include "sampling/kernels.h"

namespace tokendraw::sampling {

// p >= min(eta, sqrt(eta) * e^-H), and all tied with m. With H = ln Z + m - mu and p = e^(x - m) /
// Z the second bound is x >= mu + ln(eta) / 2: the sum drops out.
void ApplyEtaCutoff(double eta_cutoff, int32_t min_keep, Support& support) {
  if (eta_cutoff == 0) return;
  const double max = support.Max();
  const double sum = support.SumExp();
  const double log_eta = Log(std::max(eta_cutoff, std::numeric_limits<double>::min()));
  const double lowest = support.Mean() + log_eta / 2;
  support.KeepLargest(
      [=](double x) { return x == max || x >= lowest || Exp(x - max) >= eta_cutoff * sum; },
      min_keep);
}

}  // namespace tokendraw::sampling
