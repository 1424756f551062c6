#include "client/status.h"

#include <string>

namespace tokendraw {
namespace {

absl::Status ErrorStatus(int code, const std::string& message) {
  const bool known = code > 0 && code <= static_cast<int>(absl::StatusCode::kUnauthenticated);
  return absl::Status(known ? static_cast<absl::StatusCode>(code) : absl::StatusCode::kUnknown,
                      message);
}

}  // namespace

absl::Status ToAbslStatus(const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  return ErrorStatus(status.error_code(), status.error_message());
}

absl::Status ErrorOf(const v1::SampleTokensResponse& response) {
  if (!response.has_error()) return absl::OkStatus();
  return ErrorStatus(response.error().code(), response.error().message());
}

}  // namespace tokendraw
