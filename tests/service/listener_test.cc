#include "service/listener.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace tokendraw {
namespace {

TEST(ListenerTest, UnixPath) {
  EXPECT_EQ(UnixPath("unix:/run/x.sock"), "/run/x.sock");
  EXPECT_EQ(UnixPath("127.0.0.1:80"), "");
}

TEST(ListenerTest, APathHasOneHolderAtATime) {
  const std::string path = testing::TempDir() + "listener_test.sock";
  absl::StatusOr<std::unique_ptr<SocketLock>> first = SocketLock::Take(path);
  ASSERT_TRUE(first.ok()) << first.status();
  const absl::Status second = SocketLock::Take(path).status();
  EXPECT_EQ(second.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(std::string(second.message()).find(path), std::string::npos);
  first->reset();
  EXPECT_TRUE(SocketLock::Take(path).ok());
}

TEST(ListenerTest, AMissingDirectoryIsNamed) {
  const absl::Status status = SocketLock::Take("/nowhere/at/all.sock").status();
  EXPECT_EQ(std::string(status.message()),
            "cannot open /nowhere/at/all.sock.lock: No such file or directory");
}

TEST(ListenerTest, FileModeIsScoped) {
  const std::string path = testing::TempDir() + "listener_test.mode";
  std::filesystem::remove(path);
  const mode_t before = umask(022);
  {
    const ScopedFileMode mode(0640);
    std::ofstream(path) << "x";
  }
  struct stat info = {};
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0640u);
  EXPECT_EQ(umask(before), 022u);
}

}  // namespace
}  // namespace tokendraw
