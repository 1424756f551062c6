#include <algorithm>
#include <limits>

#include "sampling/filters.h"
#include "sampling/kernels.h"

namespace tokendraw::sampling {

// x := (x - m) / temperature. Relative to m, so that no temperature > 0 overflows the largest.
void ApplyTemperature(double temperature, Support& support) {
  if (temperature == 1) return;
  if (temperature == 0) return support.KeepFirst(1, 1);
  support.Temper(temperature);
}

// With n survivors of entropy H = ln Z + m - mu: the temperature is
// low + (high - low) * (H / ln n)^exponent, low = max(0, temperature - range) and
// high = temperature + range.
void ApplyDynamicTemperature(double temperature, double range, double exponent, Support& support) {
  const size_t count = support.Size();
  if (count < 2) return;
  const double entropy = Log(support.SumExp()) + (support.Max() - support.Mean());
  const double share = std::min(entropy / Log(static_cast<double>(count)), 1.0);
  const bool is_normal = share >= std::numeric_limits<double>::min();
  const double power = is_normal ? Exp(exponent * Log(share)) : 0;
  const double low = std::max(0.0, temperature - range);
  const double between = low + (temperature + range - low) * power;
  ApplyTemperature(between, support);
}

}  // namespace tokendraw::sampling
