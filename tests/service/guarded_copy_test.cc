#include "service/guarded_copy.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <csignal>
#include <thread>
#include <vector>

#include "tests/sanitizers.h"
#include "tests/service/running_server.h"

namespace tokendraw {
namespace {

constexpr size_t kPages = 8;

// A mapped file of some pages.
class MappedFile {
 public:
  MappedFile() : file_(open((dir_.path() + "/file").c_str(), O_RDWR | O_CREAT, 0600)) {
    EXPECT_EQ(ftruncate(file_, static_cast<off_t>(size())), 0);
    start_ = mmap(nullptr, size(), PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
    EXPECT_NE(start_, MAP_FAILED);
    for (size_t i = 0; i < size(); ++i) data()[i] = static_cast<std::byte>(i * 31);
  }
  ~MappedFile() {
    munmap(start_, size());
    close(file_);
  }

  static size_t page() { return static_cast<size_t>(getpagesize()); }
  static size_t size() { return kPages * page(); }
  std::byte* data() { return static_cast<std::byte*>(start_); }
  void Cut(size_t pages) { EXPECT_EQ(ftruncate(file_, static_cast<off_t>(pages * page())), 0); }

 private:
  TempDir dir_;
  int file_;
  void* start_;
};

TEST(GuardedCopyTest, CopiesWhatIsThere) {
  MappedFile file;
  for (const size_t from : {size_t{0}, size_t{1}, MappedFile::page() - 1}) {
    std::vector<std::byte> copy(MappedFile::size() - from);
    ASSERT_TRUE(GuardedCopy({file.data() + from, copy.size()}, copy.data()));
    EXPECT_TRUE(std::equal(copy.begin(), copy.end(), file.data() + from));
  }
  EXPECT_TRUE(GuardedCopy({}, nullptr));
}

TEST(GuardedCopyTest, SaysWhatIsGone) {
  MappedFile file;
  std::vector<std::byte> copy(MappedFile::size());
  for (size_t left = kPages; left-- > 0;) {
    file.Cut(left);
    for (int again = 0; again < 3; ++again) {
      EXPECT_FALSE(GuardedCopy({file.data(), copy.size()}, copy.data()));
    }
    if (left == 0) continue;
    EXPECT_TRUE(GuardedCopy({file.data(), left * MappedFile::page()}, copy.data()));
    EXPECT_FALSE(GuardedCopy({file.data(), left * MappedFile::page() + 1}, copy.data()));
  }
}

TEST(GuardedCopyTest, EachThreadHasItsOwnGuard) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      MappedFile file;
      std::vector<std::byte> copy(MappedFile::size());
      if (t % 2 == 0) file.Cut(kPages / 2);
      for (int i = 0; i < 500; ++i) {
        EXPECT_EQ(GuardedCopy({file.data(), copy.size()}, copy.data()), t % 2 != 0);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

#if !defined(TOKENDRAW_TSAN) && !defined(TOKENDRAW_ASAN)
TEST(GuardedCopyDeathTest, OtherFaultsKillAsBefore) {
  EXPECT_EXIT(
      {
        GuardedCopy({}, nullptr);
        MappedFile file;
        file.Cut(0);
        static_cast<volatile std::byte*>(file.data())[0];
      },
      testing::KilledBySignal(SIGBUS), "");
}
#endif

}  // namespace
}  // namespace tokendraw
