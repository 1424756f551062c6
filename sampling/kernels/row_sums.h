// Sums over a row that is seen block by block, once.
#ifndef TOKENDRAW_SAMPLING_KERNELS_ROW_SUMS_H_
#define TOKENDRAW_SAMPLING_KERNELS_ROW_SUMS_H_

#include <optional>

#include "absl/functional/function_ref.h"
#include "sampling/kernels.h"

namespace tokendraw::sampling {

// Takes the blocks of a row in order, each with its largest logit.
using AddBlock = absl::FunctionRef<void(const float* block, float max)>;
using FeedRow = absl::FunctionRef<void(AddBlock add)>;

// Sums up what `feed` feeds. Nothing if nothing is asked for, or if the sums take the largest logit
// of the whole row first.
std::optional<RowSums> SumFedBlocks(const SumRequest& request, FeedRow feed);

}  // namespace tokendraw::sampling

#endif  // TOKENDRAW_SAMPLING_KERNELS_ROW_SUMS_H_
