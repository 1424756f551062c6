// The way of a message from a handler to its reply: checked, admitted, queued, computed.
#ifndef TOKENDRAW_SERVICE_DISPATCHER_H_
#define TOKENDRAW_SERVICE_DISPATCHER_H_

#include <functional>

#include "absl/status/status.h"
#include "service/clock.h"
#include "service/convert.h"
#include "service/metrics.h"
#include "service/options.h"
#include "service/queue_budget.h"
#include "service/row_pool.h"
#include "service/shared_memory.h"
#include "tokendraw/v1/sampling.pb.h"

namespace tokendraw {

// One message. What it points to must live until `done` is called.
struct Message {
  const ReceivedRequest* request = nullptr;
  v1::SampleTokensResponse* response = nullptr;
  // The call's own; the request's timeout_ms may end it earlier.
  Clock::time_point deadline = Clock::time_point::max();
  // Whether the call has ended. Asked on any thread.
  std::function<bool()> cancelled;
  // Called once: with OK when `response` is filled. On the caller's thread, before Dispatch
  // returns, if the message is refused or computed there; else on a thread of the pool.
  std::function<void(const absl::Status&)> done;
};

class Dispatcher {
 public:
  // `shared_memory` (null: none is taken) and `metrics` must outlive the dispatcher.
  Dispatcher(const Options& options, int threads, SharedMemory* shared_memory, Metrics& metrics);

  // A message whose rows are little work is computed at once, with `here`, if that is given and no
  // other message is held: handing it to another thread and back would take as long.
  void Dispatch(Message message, RowWorker* here);

  // Computed on the caller's thread. The status of the call.
  absl::Status Explain(const v1::ExplainRowRequest& request, v1::ExplainRowResponse& response);

  int64_t queued_rows() const { return budget_.rows(); }
  int64_t queued_bytes() const { return budget_.bytes(); }
  int threads() const { return pool_.threads(); }
  bool takes_shared_memory() const { return shared_memory_ != nullptr; }

 private:
  absl::Status Full(const absl::Status& status) const;

  const MessageLimits limits_;
  const int64_t max_message_bytes_;
  SharedMemory* const shared_memory_;
  Metrics& metrics_;
  QueueBudget budget_;
  RowPool pool_;  // last: its jobs use what stands above
};

}  // namespace tokendraw

#endif  // TOKENDRAW_SERVICE_DISPATCHER_H_
