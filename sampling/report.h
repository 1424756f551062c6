// What a draw tells about itself beside its token.
#ifndef TOKENDRAW_SAMPLING_REPORT_H_
#define TOKENDRAW_SAMPLING_REPORT_H_

#include "sampling/params.h"
#include "sampling/support.h"
#include "sampling/types.h"

namespace tokendraw::sampling {

// Fills logprob, top_logprobs and requested_logprobs of `draw`, in nats, from the log softmax of
// `distribution`, which holds draw.token_id.
void ReportLogprobs(const Params& params, const Support& distribution, Draw& draw);

// Fills kept_count, kept_mass (under the softmax of `unfiltered`, of which `kept` is a part) and,
// if params.return_kept, kept_ids.
void ReportKept(const Params& params, const Support& unfiltered, const Support& kept, Draw& draw);

}  // namespace tokendraw::sampling

#endif  // TOKENDRAW_SAMPLING_REPORT_H_
