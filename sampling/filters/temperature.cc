#include "sampling/filters.h"

namespace tokendraw::sampling {

// x := (x - m) / temperature. Relative to m, so that no temperature > 0 overflows the largest.
void ApplyTemperature(double temperature, Support& support) {
  if (temperature == 1) return;
  support.Temper(temperature);
}

}  // namespace tokendraw::sampling
