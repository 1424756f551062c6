// A completion queue of gRPC and the thread that serves it: the one that reads a message from the
// socket also looks at it, and may compute it. gRPC's callbacks would hand it from thread to
// thread.
#ifndef TOKENDRAW_SERVICE_CALL_QUEUE_H_
#define TOKENDRAW_SERVICE_CALL_QUEUE_H_

#include <grpcpp/completion_queue.h>

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "service/row_pool.h"

namespace tokendraw {

// What happens when an operation of gRPC ends: its address is the operation's tag.
class Operation {
 public:
  explicit Operation(std::function<void(bool ok)> ended) : ended_(std::move(ended)) {}
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;

  // `ok` is false if it did not come to pass: no more messages, a broken call.
  void End(bool ok) { ended_(ok); }

 private:
  const std::function<void(bool ok)> ended_;
};

class CallQueue {
 public:
  // What every call holds, from before it is asked for until it is over: gRPC aborts the process if
  // an operation is started on a queue that was shut down.
  class Use {
   public:
    explicit Use(CallQueue& queue);
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    ~Use();

   private:
    CallQueue& queue_;
  };

  explicit CallQueue(std::unique_ptr<grpc::ServerCompletionQueue> queue);
  // Waits for the calls; the server must have shut down.
  ~CallQueue();

  // Serves the queue from now on. The server must have started.
  void Start();

  grpc::ServerCompletionQueue* get() const { return queue_.get(); }

  // The worker for small messages of `caller`, or null. Of one that is alone nobody waits while the
  // thread computes; of several, each would wait for all. To be called on the queue's thread, for
  // each message.
  RowWorker* WorkerFor(const void* caller);

 private:
  void Serve();

  const std::unique_ptr<grpc::ServerCompletionQueue> queue_;
  RowWorker worker_;
  const void* last_caller_ = nullptr;
  std::thread thread_;
  std::mutex mutex_;  // guards what stands below
  std::condition_variable unused_;
  int64_t uses_ = 0;
};

}  // namespace tokendraw

#endif  // TOKENDRAW_SERVICE_CALL_QUEUE_H_
