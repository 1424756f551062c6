#include <cmath>

#include "sampling/filters.h"

namespace tokendraw::sampling {
namespace {

// Sample standard deviation of a row of `vocab_size`, as it is without max being taken off, in
// which all but the survivors are 0.
double SigmaOfWholeRow(int32_t vocab_size, const Support& support) {
  double sum = 0, squares = 0;
  for (size_t index = 0; index < support.BlockCount(); ++index) {
    for (const float logit : support.Block(index).logits) {
      if (logit == kMasked) continue;
      const double x = support.Value(logit) + support.origin();
      sum += x;
      squares += x * x;
    }
  }
  const double count = vocab_size;
  return std::sqrt(std::max(squares - sum * sum / count, 0.0) / (count - 1));
}

}  // namespace

// Keep x >= m - n * sigma.
void ApplyTopNSigma(double top_n_sigma, Sigma sigma, int32_t vocab_size, int32_t min_keep,
                    Support& support) {
  if (top_n_sigma == 0) return;
  if (sigma == Sigma::kWholeRowAsZero && support.is_open()) return support.Undecide();
  if (vocab_size == 1) return;
  const double spread =
      sigma == Sigma::kSurvivors ? support.Stddev() : SigmaOfWholeRow(vocab_size, support);
  const double lowest = support.Max() - top_n_sigma * spread;
  support.KeepLargest([=](double x) { return x >= lowest; }, min_keep);
}

}  // namespace tokendraw::sampling
