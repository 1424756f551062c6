// gRPC 1.51 has no conversion to absl::Status; this is the one place for it.
#ifndef TOKENDRAW_CLIENT_STATUS_H_
#define TOKENDRAW_CLIENT_STATUS_H_

#include <grpcpp/support/status.h>

#include "absl/status/status.h"
#include "tokendraw/v1/sampling.pb.h"

namespace tokendraw {

// Same code, same message. Details (grpc-status-details-bin) are dropped.
absl::Status ToAbslStatus(const grpc::Status& status);

// What one message of a stream was refused with; OK if `response` has no error. A code that is not
// an error code (0, or none of google.rpc.Code) is UNKNOWN.
absl::Status ErrorOf(const v1::SampleTokensResponse& response);

}  // namespace tokendraw

#endif  // TOKENDRAW_CLIENT_STATUS_H_
