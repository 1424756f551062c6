// The chain: the order in which a row is edited and filtered.
#ifndef TOKENDRAW_SAMPLING_CHAIN_H_
#define TOKENDRAW_SAMPLING_CHAIN_H_

#include <span>

#include "sampling/params.h"
#include "sampling/support.h"
#include "sampling/types.h"

namespace tokendraw::sampling {

// Steps 1-3: bias, mask, penalties.
void ApplyEdits(const Params& params, const RowInput& row, std::span<float> logits);

// Step 5: the filters, in the order of params.chain. `xtc_acts` is the outcome of the row's XTC
// coin. Returns whether XTC removed tokens.
bool ApplyFilters(const Params& params, bool xtc_acts, Support& support);

}  // namespace tokendraw::sampling

#endif  // TOKENDRAW_SAMPLING_CHAIN_H_
