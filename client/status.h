// gRPC 1.51 has no conversion to absl::Status; this is the one place for it.
#ifndef TOKENDRAW_CLIENT_STATUS_H_
#define TOKENDRAW_CLIENT_STATUS_H_

#include <grpcpp/client_context.h>
#include <grpcpp/support/status.h>

#include <chrono>

#include "absl/status/status.h"
#include "tokendraw/v1/sampling.pb.h"

namespace tokendraw {

// Same code, same message. Details (grpc-status-details-bin) are dropped. A stream that was reset on
// its way is UNAVAILABLE: what gRPC calls INTERNAL or CANCELLED then is a proxy whose server died.
absl::Status ToAbslStatus(const grpc::Status& status);

// How the call of `context` ended, with the server's advice when to try again.
absl::Status EndOf(const grpc::ClientContext& context, const grpc::Status& status);

// What one message of a stream was refused with, and the advice; OK if `response` has no error. A
// code that is not an error code (0, or none of google.rpc.Code) is UNKNOWN.
absl::Status ErrorOf(const v1::SampleTokensResponse& response);

// The advice in `status`: RESOURCE_EXHAUSTED that is likely to be over after so long. 0: none.
std::chrono::milliseconds RetryAfter(const absl::Status& status);

}  // namespace tokendraw

#endif  // TOKENDRAW_CLIENT_STATUS_H_
