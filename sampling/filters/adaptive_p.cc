#include <cmath>

#include "sampling/filters.h"
#include "sampling/kernels.h"

namespace tokendraw::sampling {

// With d = abs(p - aim) / 0.3: x := 5 - 10 d^2 / (1 + d).
void ApplyAdaptiveP(double aim, Support& support) {
  constexpr double kPeak = 5, kSharpness = 10, kWidth = 0.3;
  const double max = support.Max();
  const double sum = support.SumExp();
  support.Reshape([=](double x) {
    const double d = std::abs(Exp(x - max) / sum - aim) / kWidth;
    return kPeak - kSharpness * d * d / (1 + d);
  });
}

}  // namespace tokendraw::sampling
