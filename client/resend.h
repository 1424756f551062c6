// Rows that their candidates cannot decide; private to the library.
#ifndef TOKENDRAW_CLIENT_RESEND_H_
#define TOKENDRAW_CLIENT_RESEND_H_

#include <functional>

#include "absl/status/statusor.h"
#include "client/row_buffer.h"
#include "tokendraw/v1/sampling.pb.h"

namespace tokendraw {

using SendRows = std::function<absl::StatusOr<v1::SampleTokensResponse>(
    const v1::SampleTokensRequest& request, const Rows& rows)>;

// `reply`, which answers the candidates of `request`, as if the rows with NEED_FULL_ROW had come
// whole: they go through `send` with the seeds of the reply, one message for each run of
// neighbours. `reply` itself if there are no such rows, or no `rows` (CheckRows) to take them from.
// Errors: those of `send`; INTERNAL if a reply does not have what its request asks for.
absl::StatusOr<v1::SampleTokensResponse> WithWholeRows(const v1::SampleTokensRequest& request,
                                                       const Rows& rows,
                                                       v1::SampleTokensResponse reply,
                                                       const SendRows& send);

}  // namespace tokendraw

#endif  // TOKENDRAW_CLIENT_RESEND_H_
