#include "service/active_calls.h"

#include <algorithm>

namespace tokendraw {

ActiveCalls::ActiveCalls(absl::Duration write_timeout, Metrics& metrics)
    : write_timeout_(write_timeout),
      metrics_(metrics),
      watch_(&ActiveCalls::WatchForStalls, this) {}

ActiveCalls::~ActiveCalls() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  watch_.join();
}

bool ActiveCalls::BeginUnary() {
  const std::lock_guard lock(mutex_);
  if (draining_) return false;
  ++unary_calls_;
  return true;
}

void ActiveCalls::EndUnary() {
  const std::lock_guard lock(mutex_);
  --unary_calls_;
  changed_.notify_all();
}

void ActiveCalls::AddStream(ActiveStream* stream) {
  const std::lock_guard lock(mutex_);
  streams_.insert(stream);
  metrics_.streams++;
  if (draining_) stream->Drain();
}

void ActiveCalls::RemoveStream(ActiveStream* stream) {
  const std::lock_guard lock(mutex_);
  streams_.erase(stream);
  metrics_.streams--;
  changed_.notify_all();
}

void ActiveCalls::Drain() {
  const std::lock_guard lock(mutex_);
  draining_ = true;
  for (ActiveStream* stream : streams_) stream->Drain();
}

bool ActiveCalls::WaitUntilIdle(absl::Duration patience) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, absl::ToChronoMilliseconds(patience),
                           [this] { return unary_calls_ == 0 && streams_.empty(); });
}

// A stalled stream lives for write_timeout and at most a quarter of it longer.
void ActiveCalls::WatchForStalls() {
  const auto period = absl::ToChronoMilliseconds(std::min(write_timeout_ / 4, absl::Seconds(1)));
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, period, [this] { return stopping_; })) {
    const auto before = Clock::now() - absl::ToChronoNanoseconds(write_timeout_);
    for (ActiveStream* stream : streams_) {
      if (!stream->StalledSince(before)) continue;
      metrics_.streams_stalled++;
      stream->Cancel();
    }
  }
}

}  // namespace tokendraw
