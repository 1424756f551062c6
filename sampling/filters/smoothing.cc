#include "sampling/filters.h"
#include "sampling/kernels.h"

namespace tokendraw::sampling {

// With d = x - m: x := -k f d^2 + s f d^3, k = (3 - curve) / 2, s = (curve - 1) / 2.
void ApplySmoothing(double factor, double curve, Support& support) {
  if (factor == 0) return;
  const SmoothingCurve shape = {
      .max = support.Max(), .square = factor * (3 - curve) / 2, .cube = factor * (curve - 1) / 2};
  support.Reshape([&](const Tempering& tempering, std::span<float> logits) {
    ShapeList(shape, tempering, logits);
  });
}

}  // namespace tokendraw::sampling
