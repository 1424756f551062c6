// Unary calls; private to the library.
#ifndef TOKENDRAW_CLIENT_CALL_H_
#define TOKENDRAW_CLIENT_CALL_H_

#include <cstddef>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/endpoint.h"
#include "client/retry.h"
#include "client/row_buffer.h"
#include "tokendraw/v1/sampling.pb.h"

namespace tokendraw {

// What `attempt(connection, turn)`, a StatusOr, gives at the first address, from that of `turn` on,
// that does not ask for a retry.
template <typename Attempt>
auto CallWithRetries(Endpoints& endpoints, std::size_t turn, const Deadline& deadline,
                     const Attempt& attempt)
    -> decltype(attempt(std::declval<Connection&>(), turn)) {
  Retry retry(endpoints.options(), deadline);
  for (;; ++turn) {
    absl::Status status;
    const absl::StatusOr<std::shared_ptr<Connection>> connection =
        endpoints.At(turn).Connect(deadline);
    if (connection.ok()) {
      auto result = attempt(**connection, turn);
      if (result.ok()) return result;
      status = result.status();
      (*connection)->Ended(status);
    } else {
      status = connection.status();
    }
    if (!retry.Again(endpoints.At(turn + 1), status)) return status;
  }
}

// One batch, whole: rows that the server cannot decide from their candidates are sent again, if
// `rows` has them. INVALID_ARGUMENT by CheckRows; otherwise as Client::SampleTokens.
absl::StatusOr<v1::SampleTokensResponse> SampleTokens(Endpoints& endpoints, std::size_t turn,
                                                      const Deadline& deadline,
                                                      const v1::SampleTokensRequest& request,
                                                      const Rows& rows);

}  // namespace tokendraw

#endif  // TOKENDRAW_CLIENT_CALL_H_
