// Faults: collected as violations, carried as absl::Status, turned into gRPC's at one place.
#ifndef TOKENDRAW_SERVICE_STATUS_H_
#define TOKENDRAW_SERVICE_STATUS_H_

#include <grpcpp/support/status.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tokendraw/v1/sampling.pb.h"

namespace tokendraw {

// One thing that is wrong with a request.
struct Violation {
  std::string field;  // path, such as params[2].typical_p
  std::string message;
};

// What is wrong with a request. Keeps the first kMaxKept and counts the others: a hostile request
// can hold millions.
class Violations {
 public:
  static constexpr size_t kMaxKept = 1000;

  void Add(std::string field, std::string message);

  size_t count() const { return count_; }
  const std::vector<Violation>& kept() const { return kept_; }

  // INVALID_ARGUMENT that lists them as `field: message; field: message`; OK if there are none. A
  // status travels in an HTTP/2 header of at most 8 KiB, so only the first 16 are listed and the
  // others counted.
  absl::Status ToStatus() const;

 private:
  std::vector<Violation> kept_;
  size_t count_ = 0;
};

// Of a status of Violations: the paths of what is wrong, with commas between, and not the values;
// else empty.
std::string WrongFields(const absl::Status& status);

// Text of UNAVAILABLE while the server ends.
inline constexpr char kDraining[] = "the server is draining";

// RESOURCE_EXHAUSTED that will pass: there is likely room again after `milliseconds`, >= 1.
absl::Status RetryAfter(absl::Status status, int32_t milliseconds);
// Of RetryAfter; 0 for a status without.
int32_t RetryAfterMs(const absl::Status& status);

// The status of a call.
grpc::Status ToGrpcStatus(const absl::Status& status);

// The status of one message of a stream.
v1::Error ToError(const absl::Status& status);

}  // namespace tokendraw

#endif  // TOKENDRAW_SERVICE_STATUS_H_
