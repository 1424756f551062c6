// What a draw tells about itself beside its token.
#ifndef TOKENDRAW_SAMPLING_REPORT_H_
#define TOKENDRAW_SAMPLING_REPORT_H_

#include "sampling/params.h"
#include "sampling/support.h"
#include "sampling/types.h"

namespace tokendraw::sampling {

// The part that all draws from one set of survivors share, made once.
class Report {
 public:
  // Returns false if they cannot tell all that is asked for: one of them is undecided or has an
  // open list. `unfiltered` are the survivors before step 5, `kept` those of them that the draw is
  // made from, and log-probabilities are of the log softmax of `distribution`.
  bool Make(const Params& params, Support& unfiltered, Support& kept, Support& distribution);

  // Fills all of `draw` that Params::WantsDetail asks for, but xtc_applied and greedy. Its token is
  // in `distribution`, the one that Make had.
  void Fill(const Support& distribution, Draw& draw) const;

 private:
  TokenLogprob Entry(const Support& distribution, int32_t id, float logit) const;

  double log_sum_ = 0;  // ln(sum of e^(x - m)) of the distribution
  Draw shared_;
  Support top_;
};

}  // namespace tokendraw::sampling

#endif  // TOKENDRAW_SAMPLING_REPORT_H_
