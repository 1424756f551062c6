#include "client/retry.h"

#include <algorithm>
#include <random>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "client/endpoint.h"
#include "client/status.h"

namespace tokendraw {
namespace {

constexpr std::chrono::milliseconds kLongestPause{1000};

// Clients that lost the same server must not come back in step.
std::chrono::nanoseconds Jittered(std::chrono::nanoseconds pause) {
  thread_local std::minstd_rand random{std::random_device{}()};
  const double factor = std::uniform_real_distribution<double>(0.8, 1.2)(random);
  return std::chrono::nanoseconds(static_cast<std::int64_t>(pause.count() * factor));
}

}  // namespace

std::chrono::nanoseconds Deadline::Left() const {
  return std::max<std::chrono::nanoseconds>(end_ - std::chrono::steady_clock::now(),
                                            std::chrono::nanoseconds::zero());
}

std::chrono::system_clock::time_point Deadline::ForGrpc() const {
  return std::chrono::system_clock::now() + Left();
}

Retry::Retry(const ClientOptions& options, Deadline deadline)
    : addresses_(options.addresses.size()), wait_(options.wait_for_ready), deadline_(deadline) {}

bool Retry::Again(Endpoint& next, absl::Status& status) {
  if (const std::chrono::milliseconds pause = RetryAfter(status);
      pause > std::chrono::milliseconds::zero()) {
    if (!wait_ || pause >= deadline_.Left()) return false;
    std::this_thread::sleep_for(pause);
    return true;
  }
  if (!absl::IsUnavailable(status)) return false;
  ++attempts_;
  if (attempts_ % addresses_ == 0) {
    // No wait, but a look at the sockets: without one no later call would find the server back.
    next.Wait(wait_ ? std::min(Jittered(pause_), deadline_.Left()) : std::chrono::nanoseconds(0));
    if (!wait_) return false;
    pause_ = std::min(2 * pause_, kLongestPause);
  }
  if (deadline_.Left() > std::chrono::nanoseconds::zero()) return true;
  status = absl::DeadlineExceededError(
      absl::StrCat("no server took the call in ", attempts_,
                   " attempts; the last one: ", std::string(status.message())));
  return false;
}

}  // namespace tokendraw
