#include "service/status.h"

#include <algorithm>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace tokendraw {

namespace {

constexpr char kRetryAfter[] = "tokendraw/retry_after_ms";
constexpr char kWrongFields[] = "tokendraw/wrong_fields";

std::string PayloadOf(const absl::Status& status, const char* name) {
  const auto payload = status.GetPayload(name);
  return payload.has_value() ? std::string(*payload) : "";
}

}  // namespace

void Violations::Add(std::string field, std::string message) {
  ++count_;
  if (kept_.size() < kMaxKept) kept_.push_back({std::move(field), std::move(message)});
}

absl::Status Violations::ToStatus() const {
  if (count_ == 0) return absl::OkStatus();
  constexpr size_t kMaxListed = 16;
  std::string text, fields;
  const size_t listed = std::min(kept_.size(), kMaxListed);
  for (size_t i = 0; i < listed; ++i) {
    absl::StrAppend(&text, i == 0 ? "" : "; ", kept_[i].field, ": ", kept_[i].message);
    absl::StrAppend(&fields, i == 0 ? "" : ",", kept_[i].field);
  }
  if (count_ > listed) absl::StrAppend(&text, "; and ", count_ - listed, " more");
  absl::Status status = absl::InvalidArgumentError(text);
  status.SetPayload(kWrongFields, absl::Cord(fields));
  return status;
}

std::string WrongFields(const absl::Status& status) { return PayloadOf(status, kWrongFields); }

absl::Status RetryAfter(absl::Status status, int32_t milliseconds) {
  status.SetPayload(kRetryAfter, absl::Cord(absl::StrCat(milliseconds)));
  return status;
}

int32_t RetryAfterMs(const absl::Status& status) {
  int32_t milliseconds = 0;
  (void)absl::SimpleAtoi(PayloadOf(status, kRetryAfter), &milliseconds);
  return milliseconds;
}

// The codes of Abseil and gRPC are the same numbers.
grpc::Status ToGrpcStatus(const absl::Status& status) {
  return {static_cast<grpc::StatusCode>(status.code()), std::string(status.message())};
}

v1::Error ToError(const absl::Status& status) {
  v1::Error error;
  error.set_code(static_cast<int32_t>(status.code()));
  error.set_message(std::string(status.message()));
  error.set_retry_after_ms(RetryAfterMs(status));
  return error;
}

}  // namespace tokendraw
