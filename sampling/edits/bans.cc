#include "sampling/edits.h"

namespace tokendraw::sampling {

// x = -inf.
void ApplyBans(std::span<const int32_t> banned, Patches& row) {
  for (const int32_t id : banned) row.logit(id) = kMasked;
}

}  // namespace tokendraw::sampling
