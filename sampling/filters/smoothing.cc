#include "sampling/filters.h"

namespace tokendraw::sampling {

// With d = x - m: x := -k f d^2 + s f d^3, k = (3 - curve) / 2, s = (curve - 1) / 2.
void ApplySmoothing(double factor, double curve, Support& support) {
  if (factor == 0) return;
  const double max = support.Max();
  const double square = factor * (3 - curve) / 2, cube = factor * (curve - 1) / 2;
  support.Reshape([=](double x) {
    const double d = x - max;
    return d * d * (cube * d - square);
  });
}

}  // namespace tokendraw::sampling
