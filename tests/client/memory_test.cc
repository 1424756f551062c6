#include "client/memory.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstddef>
#include <cstdlib>

#include "tests/sanitizers.h"

namespace tokendraw {
namespace {

long PageFaults() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt;
}

TEST(KeepFreedMemoryTest, LargeBlocksFaultOnce) {
#if defined(TOKENDRAW_ASAN) || defined(TOKENDRAW_TSAN)
  GTEST_SKIP() << "sanitizers bring their own malloc";
#endif
  constexpr std::size_t kBytes = 40 << 20;
  const auto use = [] {
    void* const block = std::malloc(kBytes);
    // Volatile: a write that nobody reads would be left out.
    for (std::size_t i = 0; i < kBytes; i += 4096) static_cast<volatile char*>(block)[i] = 1;
    std::free(block);
  };
  KeepFreedMemory();
  use();
  const long before = PageFaults();
  use();
  EXPECT_LT(PageFaults() - before, 10);  // 20 pages of 2 MiB, if the kernel gives such large ones
}

}  // namespace
}  // namespace tokendraw
