// The calls that sample: refused and waited for when the server drains, cut off when their client
// takes no replies.
#ifndef TOKENDRAW_SERVICE_ACTIVE_CALLS_H_
#define TOKENDRAW_SERVICE_ACTIVE_CALLS_H_

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <unordered_set>

#include "absl/time/time.h"
#include "service/clock.h"
#include "service/metrics.h"

namespace tokendraw {

// What is asked of a stream. Called with the lock of ActiveCalls held.
class ActiveStream {
 public:
  virtual ~ActiveStream() = default;
  // Takes no more messages; ends when those in flight are answered.
  virtual void Drain() = 0;
  // Whether a reply has been waiting for its client since `before`. False once cancelled.
  virtual bool StalledSince(Clock::time_point before) = 0;
  virtual void Cancel() = 0;
};

class ActiveCalls {
 public:
  // `metrics` must outlive the object.
  ActiveCalls(absl::Duration write_timeout, Metrics& metrics);
  // No call may be active any more.
  ~ActiveCalls();

  // False while draining: the call must be refused and not be ended.
  bool BeginUnary();
  void EndUnary();

  // Also drains the stream if the server is draining.
  void AddStream(ActiveStream* stream);
  void RemoveStream(ActiveStream* stream);

  // Refuses new calls from now on and lets streams end.
  void Drain();
  // Returns whether no call was left within `patience`. A call is left until its status has been
  // handed to the kernel.
  bool WaitUntilIdle(absl::Duration patience);

 private:
  void WatchForStalls();

  const absl::Duration write_timeout_;
  Metrics& metrics_;
  std::mutex mutex_;  // guards what stands below
  std::condition_variable changed_;
  std::unordered_set<ActiveStream*> streams_;
  int64_t unary_calls_ = 0;
  bool draining_ = false;
  bool stopping_ = false;
  std::thread watch_;
};

}  // namespace tokendraw

#endif  // TOKENDRAW_SERVICE_ACTIVE_CALLS_H_
