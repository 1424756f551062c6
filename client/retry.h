// When a call is tried again, and when it is over.
#ifndef TOKENDRAW_CLIENT_RETRY_H_
#define TOKENDRAW_CLIENT_RETRY_H_

#include <chrono>
#include <cstddef>

#include "absl/status/status.h"
#include "client/options.h"

namespace tokendraw {

class Endpoint;

// The end of a call, on the steady clock so that setting the time of day does not move it.
class Deadline {
 public:
  explicit Deadline(std::chrono::milliseconds from_now)
      : end_(std::chrono::steady_clock::now() + from_now) {}

  // Time left; 0 once it has passed.
  std::chrono::nanoseconds Left() const;

  // The same moment as gRPC wants it.
  std::chrono::system_clock::time_point ForGrpc() const;

 private:
  std::chrono::steady_clock::time_point end_;
};

// The retries of one call. gRPC's own give up above 256 KiB, less than one row of logits. Safe
// since a token is a pure function of the request; a row without a seed draws another, valid, one.
class Retry {
 public:
  Retry(const ClientOptions& options, Deadline deadline);

  // Whether the attempt that ended in `status` is to be followed by another one, at the next
  // address, `next`.
  // After UNAVAILABLE: yes. Waits for `next` after each round over the addresses, 10 ms at first
  // and at most 1 s. If the deadline ends the call, `status` becomes DEADLINE_EXCEEDED. After
  // RESOURCE_EXHAUSTED with advice (RetryAfter): once the pause is over, unless that is past the
  // deadline.
  bool Again(Endpoint& next, absl::Status& status);

 private:
  const std::size_t addresses_;
  const bool wait_;
  const Deadline deadline_;
  std::size_t attempts_ = 0;
  std::chrono::milliseconds pause_{10};
};

}  // namespace tokendraw

#endif  // TOKENDRAW_CLIENT_RETRY_H_
