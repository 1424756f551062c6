// gRPC 1.51 waits for its timers with abseil's locks, and those, before 2023-08, wait for a moment
// of the kernel's time of day. Where that is set back, timers stand still for as long: deadlines do
// not end calls, and lost connections are not made again (grpc/grpc#32176). What follows takes the
// place of abseil's wait, which is weak so that programs can do this, in the programs that it is
// linked to: the same wait, until a moment of the clock that cannot be set.
#include "absl/base/config.h"

#if ABSL_LTS_RELEASE_VERSION < 20230802

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <ctime>

#include "absl/base/internal/thread_identity.h"
#include "absl/synchronization/internal/kernel_timeout.h"
#include "absl/synchronization/internal/per_thread_sem.h"
#include "absl/synchronization/internal/waiter.h"

namespace {

using absl::synchronization_internal::KernelTimeout;
using std::chrono::nanoseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;
using std::chrono::system_clock;

static_assert(ABSL_WAITER_MODE == ABSL_WAITER_MODE_FUTEX);

// The moment of `timeout` as CLOCK_MONOTONIC counts.
timespec SteadyEnd(KernelTimeout timeout) {
  const timespec set = timeout.MakeAbsTimespec();
  const nanoseconds left = seconds(set.tv_sec) + nanoseconds(set.tv_nsec) -
                           nanoseconds(system_clock::now().time_since_epoch());
  const nanoseconds end =
      steady_clock::now().time_since_epoch() + std::max(left, nanoseconds::zero());
  const auto whole = std::chrono::floor<seconds>(end);
  return {whole.count(), (end - whole).count()};
}

}  // namespace

// Whether the thread's semaphore, a counter, was posted until then. Its address is the futex.
extern "C" bool ABSL_INTERNAL_C_SYMBOL(AbslInternalPerThreadSemWait)(KernelTimeout timeout) {
  auto& posted = *reinterpret_cast<std::atomic<int32_t>*>(
      absl::base_internal::CurrentThreadIdentityIfPresent()->waiter_state.data);
  const timespec end = timeout.has_timeout() ? SteadyEnd(timeout) : timespec{};
  for (;;) {
    int32_t count = posted.load(std::memory_order_relaxed);
    while (count > 0) {
      if (posted.compare_exchange_weak(count, count - 1, std::memory_order_acquire)) return true;
    }
    const int64_t woken =
        syscall(SYS_futex, &posted, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, 0,
                timeout.has_timeout() ? &end : nullptr, nullptr, FUTEX_BITSET_MATCH_ANY);
    if (woken != 0 && errno == ETIMEDOUT) return false;
  }
}

#endif  // ABSL_LTS_RELEASE_VERSION < 20230802
