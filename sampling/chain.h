// The chain: the order in which a row is edited and filtered.
#ifndef TOKENDRAW_SAMPLING_CHAIN_H_
#define TOKENDRAW_SAMPLING_CHAIN_H_

#include "sampling/candidates.h"
#include "sampling/edits.h"
#include "sampling/params.h"
#include "sampling/row.h"
#include "sampling/support.h"
#include "sampling/types.h"

namespace tokendraw::sampling {

// Steps 1-3: reads the row, then bias, mask, penalties. Returns the first id whose logit is NaN or
// +inf, as it came or after the edits, or -1.
int32_t ReadAndEdit(const Params& params, const RowInput& row, EditBuffers& buffers,
                    FloatRow& edited);

// The same for a row that came as candidates, once `edited` has read it and is not complete.
RowError EditCandidates(const Params& params, const RowInput& row, EditBuffers& buffers,
                        Candidates& edited);

// Step 5: the filters, in the order of params.chain. `xtc_acts` is the outcome of the row's XTC
// coin. Returns whether XTC removed tokens.
bool ApplyFilters(const Params& params, bool xtc_acts, Support& support);

}  // namespace tokendraw::sampling

#endif  // TOKENDRAW_SAMPLING_CHAIN_H_
