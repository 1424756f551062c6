#include "service/sample_stream.h"

#include <utility>

#include "absl/time/clock.h"
#include "service/status.h"

namespace tokendraw {

SampleStream* SampleStream::Start(grpc::CallbackServerContext* context, size_t max_in_flight,
                                  Dispatcher& dispatcher, ActiveCalls& calls) {
  auto* stream = new SampleStream(context, max_in_flight, dispatcher, calls);
  calls.AddStream(stream);
  const std::lock_guard lock(stream->mutex_);
  stream->Advance();
  return stream;
}

SampleStream::SampleStream(grpc::CallbackServerContext* context, size_t max_in_flight,
                           Dispatcher& dispatcher, ActiveCalls& calls)
    : context_(context), max_in_flight_(max_in_flight), dispatcher_(dispatcher), calls_(calls) {}

void SampleStream::Advance() {
  if (finished_) return;
  if (broken_ && !writing_) {
    // Nobody will take these replies. What the pool still computes stays until it is answered.
    std::erase_if(in_flight_, [](const auto& message) { return message->answered; });
  }
  if (!writing_ && !in_flight_.empty() && in_flight_.front()->answered) {
    writing_ = true;
    write_started_ = absl::Now();
    StartWrite(&in_flight_.front()->response);
  }
  const bool no_more = no_more_reads_ || broken_ || draining_;
  if (!no_more && !reading_ && in_flight_.size() < max_in_flight_) {
    reading_ = true;
    next_ = std::make_unique<InFlight>();
    StartRead(&next_->request);
  }
  if (no_more && in_flight_.empty()) {
    finished_ = true;
    const bool cut_short = draining_ && !no_more_reads_;
    Finish(cut_short ? grpc::Status(grpc::StatusCode::UNAVAILABLE, kDraining) : grpc::Status::OK);
  }
}

void SampleStream::OnReadDone(bool ok) {
  InFlight* message = nullptr;
  {
    const std::lock_guard lock(mutex_);
    reading_ = false;
    if (finished_) return;
    if (!ok) {
      no_more_reads_ = true;
      return Advance();
    }
    message = next_.get();
    in_flight_.push_back(std::move(next_));
  }
  // Without the lock: a refused message is answered before Dispatch returns.
  dispatcher_.Dispatch(
      {.request = &message->request,
       .response = &message->response,
       .cancelled = [this] { return context_->IsCancelled(); },
       .done = [this, message](const absl::Status& status) { Answer(*message, status); }});
  const std::lock_guard lock(mutex_);
  Advance();
}

void SampleStream::Answer(InFlight& message, const absl::Status& status) {
  const std::lock_guard lock(mutex_);
  if (!status.ok()) {
    const int64_t step = message.request.step();
    message.response.Clear();
    message.response.set_step(step);
    message.response.set_semantics_version(sampling::kSemanticsVersion);
    *message.response.mutable_error() = ToError(status);
  }
  message.request.Clear();
  message.answered = true;
  Advance();
}

void SampleStream::OnWriteDone(bool ok) {
  const std::lock_guard lock(mutex_);
  writing_ = false;
  in_flight_.pop_front();
  if (!ok) broken_ = true;
  Advance();
}

void SampleStream::OnCancel() {
  const std::lock_guard lock(mutex_);
  broken_ = true;
  Advance();
}

// The lock waits for a thread that called Finish and has not left Advance yet.
void SampleStream::OnDone() {
  calls_.RemoveStream(this);
  mutex_.lock();
  mutex_.unlock();
  delete this;
}

void SampleStream::Drain() {
  const std::lock_guard lock(mutex_);
  draining_ = true;
  Advance();
}

bool SampleStream::StalledSince(absl::Time before) {
  const std::lock_guard lock(mutex_);
  return writing_ && write_started_ <= before && !broken_;
}

void SampleStream::Cancel() {
  {
    const std::lock_guard lock(mutex_);
    broken_ = true;
  }
  context_->TryCancel();
}

}  // namespace tokendraw
