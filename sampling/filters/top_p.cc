#include "sampling/filters.h"

namespace tokendraw::sampling {

// By (x descending, id ascending), keep while the mass before is < top_p.
void ApplyTopP(double top_p, MassCut cut, int32_t min_keep, Support& support) {
  if (top_p == 1) return;
  support.KeepWhileMassBefore(top_p, LargestFirst(), min_keep, cut);
}

}  // namespace tokendraw::sampling
