#include <cmath>

#include "sampling/filters.h"
#include "sampling/kernels.h"

namespace tokendraw::sampling {
namespace {

// sqrt(sum of (x - mean)^2 / n), in sums relative to `max`.
double PopulationStddev(std::span<const Candidate> tokens, double max) {
  const auto n = static_cast<double>(tokens.size());
  FixedOrderSum sum;
  for (const Candidate& token : tokens) sum.Add(token.logit - max);
  const double mean = sum.Total() / n;
  FixedOrderSum squares;
  for (const Candidate& token : tokens) {
    const double deviation = (token.logit - max) - mean;
    squares.Add(deviation * deviation);
  }
  return std::sqrt(squares.Total() / n);
}

}  // namespace

// Keep x >= m - n * sigma.
void ApplyTopNSigma(double top_n_sigma, int32_t min_keep, Support& support) {
  if (top_n_sigma == 0) return;
  const double max = support.Max();
  const double lowest = max - top_n_sigma * PopulationStddev(support.tokens(), max);
  support.KeepLargest([=](const Candidate& token) { return token.logit >= lowest; }, min_keep);
}

}  // namespace tokendraw::sampling
