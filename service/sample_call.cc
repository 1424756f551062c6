#include "service/sample_call.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "service/status.h"

namespace tokendraw {
namespace {

// gRPC tells the deadline on the clock that can be set, which is right at this moment alone.
Clock::time_point DeadlineOf(const grpc::ServerContext& context) {
  return Clock::now() + (context.deadline() - std::chrono::system_clock::now());
}

}  // namespace

void SampleCall::Await(const HotCalls& hot) {
  auto* call = new SampleCall(hot);
  call->context_.AsyncNotifyWhenDone(&call->done_);
  hot.service.RequestSampleTokens(&call->context_, &call->bytes_, &call->writer_, hot.queue.get(),
                                  hot.queue.get(), &call->called_);
}

void SampleCall::OnCalled(bool ok) {
  if (!ok) {  // the server shuts down: nobody called, and done_ never comes
    delete this;
    return;
  }
  Await(hot_);
  begun_ = Clock::now();
  is_active_ = hot_.calls.BeginUnary();
  if (!is_active_) return Answer(absl::UnavailableError(kDraining));
  if (hot_.token_file != nullptr) {
    if (absl::Status check = hot_.token_file->Check(context_); !check.ok()) return Answer(check);
  }
  if (absl::Status read = request_.Read(std::move(bytes_)); !read.ok()) return Answer(read);
  hot_.dispatcher.Dispatch({.request = &request_,
                            .response = &response_,
                            .deadline = DeadlineOf(context_),
                            .cancelled = [this] { return cancelled_.load(); },
                            .done = [this](const absl::Status& status) { Answer(status); }},
                           hot_.queue.WorkerFor(nullptr));  // all such calls are one caller
}

void SampleCall::Answer(const absl::Status& status) {
  hot_.answered.Add(Rpc::kSampleTokens, begun_, status,
                    {.step = request_.message().step(),
                     .rows = request_.message().logits().row_count(),
                     .bytes = request_.size()},
                    context_);
  if (const int32_t retry_after_ms = RetryAfterMs(status); retry_after_ms > 0) {
    context_.AddTrailingMetadata("grpc-retry-pushback-ms", absl::StrCat(retry_after_ms));
  }
  if (status.ok()) {
    writer_.Finish(ToBytes(response_), grpc::Status::OK, &sent_);
  } else {
    writer_.FinishWithError(ToGrpcStatus(status), &sent_);
  }
  OnEnd();
}

void SampleCall::OnEnd() {
  if (--ends_left_ > 0) return;
  if (is_active_) hot_.calls.EndUnary();
  delete this;
}

}  // namespace tokendraw
