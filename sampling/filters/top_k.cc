#include "sampling/filters.h"

namespace tokendraw::sampling {

// By (x descending, id ascending), the first k: exactly k, also where the k-th is tied, unless
// `with_equal`.
void ApplyTopK(int32_t top_k, bool with_equal, int32_t min_keep, Support& support) {
  if (top_k == 0) return;
  support.KeepFirst(top_k, min_keep, with_equal);
}

}  // namespace tokendraw::sampling
