#include "service/health_watch.h"

namespace tokendraw {

void HealthWatch::Await(Health& health, CallQueue& queue) {
  auto* watch = new HealthWatch(health, queue);
  watch->context_.AsyncNotifyWhenDone(&watch->done_);
  health.RequestWatch(&watch->context_, &watch->request_, &watch->writer_, queue.get(), queue.get(),
                      &watch->called_);
}

void HealthWatch::OnCalled(bool ok) {
  if (!ok) {  // the server shuts down: nobody called, and done_ never comes
    delete this;
    return;
  }
  Await(health_, queue_);
  health_.Add(this);
}

void HealthWatch::Tell(HealthStatus status) {
  const std::lock_guard lock(mutex_);
  status_ = status;
  Advance();
}

void HealthWatch::OnWritten() {
  const std::lock_guard lock(mutex_);
  writing_ = false;
  Advance();
}

void HealthWatch::OnDone() {
  health_.Remove(this);
  const std::lock_guard lock(mutex_);
  done_with_ = true;
  Advance();
}

void HealthWatch::Advance() {
  if (writing_) return;
  if (done_with_) {
    writer_.Finish(grpc::Status::CANCELLED, &sent_);
  } else if (written_status_ != status_) {
    writing_ = true;
    written_status_ = status_;
    grpc::health::v1::HealthCheckResponse response;
    response.set_status(status_);
    writer_.Write(response, &written_);
  }
}

}  // namespace tokendraw
