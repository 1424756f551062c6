#include "service/sample_stream.h"

#include <utility>

#include "service/status.h"

namespace tokendraw {

void SampleStream::Await(const HotCalls& hot) {
  auto* stream = new SampleStream(hot);
  stream->context_.AsyncNotifyWhenDone(&stream->done_);
  hot.service.RequestStreamSampleTokens(&stream->context_, &stream->stream_, hot.queue.get(),
                                        hot.queue.get(), &stream->called_);
}

void SampleStream::OnCalled(bool ok) {
  if (!ok) {  // the server shuts down: nobody called, and done_ never comes
    delete this;
    return;
  }
  Await(hot_);
  hot_.calls.AddStream(this);
  const std::lock_guard lock(mutex_);
  if (hot_.token_file != nullptr) refused_ = hot_.token_file->Check(context_);
  if (!refused_.ok()) {
    hot_.answered.Add(Rpc::kStreamSampleTokens, Clock::now(), refused_, {}, context_);
  } else if (!finished_) {  // a server that drains has ended it already
    // Some clients wait for the headers before they send the first message.
    ++operations_;
    stream_.SendInitialMetadata(&opened_);
  }
  Advance();
}

void SampleStream::Advance() {
  if (finished_) return;
  if (broken_ && !writing_) {
    // Nobody will take these replies. What the pool still computes stays until it is answered.
    std::erase_if(in_flight_, [](const auto& message) { return message->answered; });
  }
  if (!writing_ && !in_flight_.empty() && in_flight_.front()->answered) {
    writing_ = true;
    ++operations_;
    write_started_ = Clock::now();
    stream_.Write(in_flight_.front()->bytes, &written_);
  }
  const bool no_more = no_more_reads_ || broken_ || draining_ || !refused_.ok();
  if (!no_more && !reading_ && in_flight_.size() < hot_.max_in_flight) {
    reading_ = true;
    ++operations_;
    next_ = std::make_unique<InFlight>();
    stream_.Read(&next_->bytes, &read_);
  }
  if (no_more && in_flight_.empty()) {
    finished_ = true;
    const bool cut_short = draining_ && !no_more_reads_;
    absl::Status status = refused_;
    if (cut_short) status.Update(absl::UnavailableError(kDraining));
    stream_.Finish(ToGrpcStatus(status), &sent_);
  }
}

void SampleStream::OnRead(bool ok) {
  InFlight* message = nullptr;
  {
    const std::lock_guard lock(mutex_);
    reading_ = false;
    if (ok && !finished_) {
      message = next_.get();
      in_flight_.push_back(std::move(next_));
    }
    no_more_reads_ = no_more_reads_ || !ok;
  }
  // Without the lock: the message may be answered before Dispatch returns.
  if (message != nullptr) Dispatch(*message);
  {
    const std::lock_guard lock(mutex_);
    Advance();
  }
  EndOperation();
}

void SampleStream::Dispatch(InFlight& message) {
  message.begun = Clock::now();
  absl::Status read = message.request.Read(std::move(message.bytes));
  if (!read.ok()) return Answer(message, read);
  hot_.dispatcher.Dispatch(
      {.request = &message.request,
       .response = &message.response,
       .cancelled = [this] { return broken_.load(); },
       .done = [this, &message](const absl::Status& status) { Answer(message, status); }},
      hot_.queue.WorkerFor(this));
}

void SampleStream::Answer(InFlight& message, const absl::Status& status) {
  hot_.answered.Add(Rpc::kStreamSampleTokens, message.begun, status,
                    {.step = message.request.message().step(),
                     .rows = message.request.message().logits().row_count(),
                     .bytes = message.request.size()},
                    context_);
  if (!status.ok()) {
    const int64_t step = message.request.message().step();
    message.response.Clear();
    message.response.set_step(step);
    message.response.set_semantics_version(sampling::kSemanticsVersion);
    *message.response.mutable_error() = ToError(status);
  }
  message.request.Clear();
  message.bytes = ToBytes(message.response);
  const std::lock_guard lock(mutex_);
  message.answered = true;
  Advance();
}

void SampleStream::OnWritten(bool ok) {
  {
    const std::lock_guard lock(mutex_);
    writing_ = false;
    in_flight_.pop_front();
    if (!ok) broken_ = true;
    Advance();
  }
  EndOperation();
}

void SampleStream::OnDone() {
  {
    const std::lock_guard lock(mutex_);
    if (context_.IsCancelled()) broken_ = true;
    Advance();
  }
  EndOperation();
}

void SampleStream::EndOperation() {
  {
    const std::lock_guard lock(mutex_);
    if (--operations_ > 0) return;
  }
  hot_.calls.RemoveStream(this);
  delete this;
}

void SampleStream::Drain() {
  const std::lock_guard lock(mutex_);
  draining_ = true;
  Advance();
}

bool SampleStream::StalledSince(Clock::time_point before) {
  const std::lock_guard lock(mutex_);
  return writing_ && write_started_ <= before && !broken_;
}

void SampleStream::Cancel() {
  {
    const std::lock_guard lock(mutex_);
    broken_ = true;
  }
  context_.TryCancel();
}

}  // namespace tokendraw
