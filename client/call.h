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

// What `attempt(endpoint, turn)`, a StatusOr, gives at the first address, from that of `turn` on,
// that does not ask for a retry.
template <typename Attempt>
auto WithRetries(Endpoints& endpoints, std::size_t turn, const Deadline& deadline,
                 const Attempt& attempt) -> decltype(attempt(endpoints.At(turn), turn)) {
  Retry retry(endpoints.options(), deadline);
  for (;; ++turn) {
    auto result = attempt(endpoints.At(turn), turn);
    if (result.ok()) return result;
    absl::Status status = result.status();
    if (!retry.Again(endpoints.At(turn + 1), status)) return status;
  }
}

// The same for `attempt(connection, turn)`.
template <typename Attempt>
auto CallWithRetries(Endpoints& endpoints, std::size_t turn, const Deadline& deadline,
                     const Attempt& attempt)
    -> decltype(attempt(std::declval<Connection&>(), turn)) {
  using Result = decltype(attempt(std::declval<Connection&>(), turn));
  const auto connect = [&](Endpoint& endpoint, std::size_t at) -> Result {
    const absl::StatusOr<std::shared_ptr<Connection>> connection = endpoint.Connect(deadline);
    if (!connection.ok()) return connection.status();
    Result result = attempt(**connection, at);
    if (!result.ok()) (*connection)->Ended(result.status());
    return result;
  };
  return WithRetries(endpoints, turn, deadline, connect);
}

// One batch, whole: rows that the server cannot decide from their candidates are sent again, if
// `rows` has them. INVALID_ARGUMENT by CheckRows; otherwise as Client::SampleTokens.
absl::StatusOr<v1::SampleTokensResponse> SampleTokens(Endpoints& endpoints, std::size_t turn,
                                                      const Deadline& deadline,
                                                      const v1::SampleTokensRequest& request,
                                                      const Rows& rows);

}  // namespace tokendraw

#endif  // TOKENDRAW_CLIENT_CALL_H_
