// The one entry: a row, its parameters and its random key in, tokens out.
#ifndef TOKENDRAW_SAMPLING_SAMPLER_H_
#define TOKENDRAW_SAMPLING_SAMPLER_H_

#include <memory>

#include "sampling/params.h"
#include "sampling/types.h"

namespace tokendraw::sampling {

// Samples rows. A token is a pure function of the arguments of Sample: the object only owns buffers
// that are reused from row to row, some 500 bytes per token of the largest vocabulary seen, of
// which plain draws from truncated rows touch some 20. One per thread.
class Sampler {
 public:
  Sampler();
  ~Sampler();

  // Draws row.sample_count tokens. `params` must break no rule (BrokenRules) and name no filter
  // twice; ids of `params` and `row` must be in [0, V). The data of the row may be anything: a row
  // that cannot be sampled is a result with an error. Replaces all of `result`; with one that is
  // used again nothing is allocated.
  void Sample(const Params& params, const RowInput& row, RowResult& result);
  RowResult Sample(const Params& params, const RowInput& row);

 private:
  struct Buffers;
  std::unique_ptr<Buffers> buffers_;
};

// Instruction set that rows are computed with, such as "AVX2".
const char* SimdTarget();

}  // namespace tokendraw::sampling

#endif  // TOKENDRAW_SAMPLING_SAMPLER_H_
