// The chain: the order in which a row is edited and filtered.
#ifndef TOKENDRAW_SAMPLING_CHAIN_H_
#define TOKENDRAW_SAMPLING_CHAIN_H_

#include <cstddef>
#include <optional>
#include <span>

#include "absl/functional/function_ref.h"
#include "sampling/candidates.h"
#include "sampling/edits.h"
#include "sampling/params.h"
#include "sampling/row.h"
#include "sampling/support.h"
#include "sampling/types.h"

namespace tokendraw::sampling {

// The tokens that allowed_mask and allowed_ids both allow, as a mask that is in `buffers` or is the
// row's; absent: all.
std::optional<std::span<const std::byte>> AllowedMask(const Params& params, const RowInput& row,
                                                      EditBuffers& buffers);

// Steps 1-3: reads the row, then bias, bans, penalties. Returns the first id whose logit is NaN or
// +inf, as it came or after the edits, or -1.
int32_t ReadAndEdit(const Params& params, const RowInput& row, EditBuffers& buffers,
                    FloatRow& edited);

// The same for a row that came as candidates, once `edited` has read it and is not complete.
RowError EditCandidates(const Params& params, const RowInput& row, EditBuffers& buffers,
                        Candidates& edited);

// Whether the parameters of `filter` are not its "off".
bool IsOn(Filter filter, const Params& params);

// Called after a filter that is on, with what it left.
using StageWatcher = absl::FunctionRef<void(Filter filter, Support& after)>;
inline void IgnoreStage(Filter, Support&) {}

// Step 5: the filters, in the order of params.chain, all but adaptive-p, which reshapes what a
// token is drawn from and not what is kept. `xtc_acts` is the outcome of the row's XTC coin.
// Returns whether XTC removed tokens.
bool ApplyFilters(const Params& params, const RowInput& row, bool xtc_acts, Support& support,
                  StageWatcher watch = IgnoreStage);

// Whether adaptive-p is on, and in the chain, of which it is the last.
bool Adapts(const Params& params);

// Makes of the survivors what adaptive-p draws from.
void Adapt(const Params& params, const RowInput& row, Support& support);

// XTC alone. Returns whether it removed tokens.
bool ApplyXtcAlone(const Params& params, Support& support);

}  // namespace tokendraw::sampling

#endif  // TOKENDRAW_SAMPLING_CHAIN_H_
