// tests/chaos/clock.sh sets the time of day; here, that abseil's waits are ours and still are
// waits.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "absl/synchronization/internal/per_thread_sem.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"

namespace tokendraw {
namespace {

using std::chrono::steady_clock;

#if ABSL_LTS_RELEASE_VERSION < 20230802
TEST(SteadyWaitsTest, AbseilsWaitIsThatOfThisProgram) {
  Dl_info wait, here;
  ASSERT_NE(
      dladdr(reinterpret_cast<void*>(&ABSL_INTERNAL_C_SYMBOL(AbslInternalPerThreadSemWait)), &wait),
      0);
  ASSERT_NE(dladdr(reinterpret_cast<void*>(&testing::Test::HasFailure), &here), 0);
  EXPECT_EQ(wait.dli_fbase, here.dli_fbase);
}
#endif  // otherwise abseil's own wait is right

TEST(SteadyWaitsTest, AWaitEndsWithItsTime) {
  absl::Notification never;
  const auto begun = steady_clock::now();
  EXPECT_FALSE(never.WaitForNotificationWithTimeout(absl::Milliseconds(200)));
  const auto waited = steady_clock::now() - begun;
  EXPECT_GE(waited, std::chrono::milliseconds(199));
  EXPECT_LT(waited, std::chrono::seconds(60));
  EXPECT_FALSE(never.WaitForNotificationWithTimeout(-absl::Seconds(1)));
}

TEST(SteadyWaitsTest, AWaitEndsWithWhatItIsFor) {
  for (const absl::Duration timeout : {absl::Hours(1), absl::InfiniteDuration()}) {
    absl::Notification notification;
    std::thread other([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      notification.Notify();
    });
    EXPECT_TRUE(notification.WaitForNotificationWithTimeout(timeout));
    other.join();
  }
}

}  // namespace
}  // namespace tokendraw
