#include "sampling/filters.h"

namespace tokendraw::sampling {

// By abs(-ln p - H). With lse = ln(sum of e^x): -ln p = lse - x and H = lse - mu, so
// abs(-ln p - H) = abs(x - mu): the logits nearest to the mean logit mu = sum of p * x.
void ApplyTypicalP(double typical_p, MassCut cut, int32_t min_keep, Support& support) {
  if (typical_p == 1) return;
  support.KeepWhileMassBefore(typical_p, NearestTo(support.Mean()), min_keep, cut);
}

}  // namespace tokendraw::sampling
