#include "sampling/filters.h"
#include "sampling/kernels.h"

namespace tokendraw::sampling {

// With d = abs(p - aim) / 0.3: x := 5 - 10 d^2 / (1 + d).
void ApplyAdaptiveP(double aim, Support& support) {
  const AdaptiveCurve shape = {.max = support.Max(), .sum = support.SumExp(), .aim = aim};
  support.Reshape([&](const Tempering& tempering, std::span<float> logits) {
    ShapeList(shape, tempering, logits);
  });
}

}  // namespace tokendraw::sampling
