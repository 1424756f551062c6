#include "sampling/filters.h"

namespace tokendraw::sampling {

// By (x descending, id ascending), the first k: exactly k, also where the k-th is tied.
void ApplyTopK(int32_t top_k, int32_t min_keep, Support& support) {
  if (top_k == 0) return;
  support.KeepFirst(top_k, min_keep);
}

}  // namespace tokendraw::sampling
