// The one entry: a row, its parameters and its random key in, tokens out.
#ifndef TOKENDRAW_SAMPLING_SAMPLER_H_
#define TOKENDRAW_SAMPLING_SAMPLER_H_

#include <vector>

#include "sampling/params.h"
#include "sampling/support.h"
#include "sampling/types.h"

namespace tokendraw::sampling {

// Samples rows. A token is a pure function of the arguments of Sample: the object only owns buffers
// that are reused from row to row. One per thread.
class Sampler {
 public:
  // Draws row.sample_count tokens. `params` must break no rule (BrokenRules) and name no filter
  // twice; ids of `params` and `row` must be in [0, V). The data of the row may be anything: a row
  // that cannot be sampled is a RowResult with an error.
  RowResult Sample(const Params& params, const RowInput& row);

 private:
  std::vector<float> logits_;
  Support unfiltered_;  // the survivors before step 5
};

// Instruction set that rows are computed with.
const char* SimdTarget();

}  // namespace tokendraw::sampling

#endif  // TOKENDRAW_SAMPLING_SAMPLER_H_
