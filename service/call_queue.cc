#include "service/call_queue.h"

namespace tokendraw {

CallQueue::Use::Use(CallQueue& queue) : queue_(queue) {
  const std::lock_guard lock(queue_.mutex_);
  ++queue_.uses_;
}

CallQueue::Use::~Use() {
  const std::lock_guard lock(queue_.mutex_);  // until the last line: the queue may be gone after it
  if (--queue_.uses_ == 0) queue_.unused_.notify_all();
}

CallQueue::CallQueue(std::unique_ptr<grpc::ServerCompletionQueue> queue)
    : queue_(std::move(queue)) {}

void CallQueue::Start() { thread_ = std::thread(&CallQueue::Serve, this); }

CallQueue::~CallQueue() {
  {
    std::unique_lock lock(mutex_);
    unused_.wait(lock, [this] { return uses_ == 0; });
  }
  queue_->Shutdown();
  if (thread_.joinable()) {
    thread_.join();
  } else {
    Serve();  // gRPC wants it empty
  }
}

RowWorker* CallQueue::WorkerFor(const void* caller) {
  const bool is_alone = std::exchange(last_caller_, caller) == caller;
  return is_alone ? &worker_ : nullptr;
}

void CallQueue::Serve() {
  void* tag;
  bool ok;
  while (queue_->Next(&tag, &ok)) static_cast<Operation*>(tag)->End(ok);
}

}  // namespace tokendraw
