#include "client/status.h"

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace tokendraw {
namespace {

// The name of gRPC's metadata, and of the payload of a status.
constexpr char kRetryAfter[] = "grpc-retry-pushback-ms";

absl::Status ErrorStatus(int code, const std::string& message) {
  const bool known = code > 0 && code <= static_cast<int>(absl::StatusCode::kUnauthenticated);
  return absl::Status(known ? static_cast<absl::StatusCode>(code) : absl::StatusCode::kUnknown,
                      message);
}

}  // namespace

absl::Status ToAbslStatus(const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  const grpc::StatusCode code = status.error_code();
  const bool may_be_cut = code == grpc::StatusCode::INTERNAL || code == grpc::StatusCode::CANCELLED;
  if (may_be_cut && absl::StrContains(status.error_message(), "RST_STREAM")) {
    return absl::UnavailableError(absl::StrCat("cut off: ", status.error_message()));
  }
  return ErrorStatus(status.error_code(), status.error_message());
}

absl::Status EndOf(const grpc::ClientContext& context, const grpc::Status& status) {
  absl::Status end = ToAbslStatus(status);
  const auto& metadata = context.GetServerTrailingMetadata();
  if (const auto advice = metadata.find(kRetryAfter); advice != metadata.end()) {
    end.SetPayload(kRetryAfter,
                   absl::Cord(std::string(advice->second.data(), advice->second.size())));
  }
  return end;
}

absl::Status ErrorOf(const v1::SampleTokensResponse& response) {
  if (!response.has_error()) return absl::OkStatus();
  absl::Status error = ErrorStatus(response.error().code(), response.error().message());
  if (response.error().retry_after_ms() > 0) {
    error.SetPayload(kRetryAfter, absl::Cord(absl::StrCat(response.error().retry_after_ms())));
  }
  return error;
}

std::chrono::milliseconds RetryAfter(const absl::Status& status) {
  const auto advice = status.GetPayload(kRetryAfter);
  std::int32_t ms = 0;
  if (!absl::IsResourceExhausted(status) || !advice.has_value() ||
      !absl::SimpleAtoi(std::string(*advice), &ms)) {
    return std::chrono::milliseconds(0);
  }
  return std::chrono::milliseconds(std::max(ms, 0));
}

}  // namespace tokendraw
