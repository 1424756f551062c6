#include "service/call_queue.h"

namespace tokendraw {

CallQueue::CallQueue(std::unique_ptr<grpc::ServerCompletionQueue> queue)
    : queue_(std::move(queue)) {}

void CallQueue::Start() { thread_ = std::thread(&CallQueue::Serve, this); }

CallQueue::~CallQueue() {
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
