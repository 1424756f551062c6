#include "service/token_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/service/temp_dir.h"

namespace tokendraw {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class TokenFileTest : public ::testing::Test {
 protected:
  std::string Write(const std::string& text) const {
    const std::string path = dir_.path() + "/tokens";
    // Put in its place at once, as one does with a file that others read.
    std::ofstream(path + ".new") << text;
    std::filesystem::rename(path + ".new", path);
    return path;
  }

  const TempDir dir_;
};

bool Admits(TokenFile& file, const std::string& header) { return file.CheckHeader(header).ok(); }

TEST_F(TokenFileTest, AdmitsWhoBringsOneOfTheTokens) {
  const auto file = TokenFile::Open(Write("  secret\n\nnewer \n"));
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_TRUE(Admits(**file, "Bearer secret"));
  EXPECT_TRUE(Admits(**file, "Bearer newer"));
  for (const char* header : {"", "Bearer ", "Bearer", "secret", "Bearer secre", "Bearer secrett",
                             "bearer secret", "Basic secret", "Bearer  secret", "Bearer SECRET"}) {
    EXPECT_FALSE(Admits(**file, header)) << header;
  }
  const absl::Status status = (*file)->CheckHeader("Bearer mine");
  EXPECT_EQ(status.code(), absl::StatusCode::kUnauthenticated);
  EXPECT_THAT(std::string(status.message()), Not(HasSubstr("mine")));
}

TEST_F(TokenFileTest, IsReadAgainWhenItChanges) {
  const auto file = TokenFile::Open(Write("old"));
  ASSERT_TRUE(file.ok());
  Write("new");
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!Admits(**file, "Bearer new") && std::chrono::steady_clock::now() < end) {
    std::this_thread::yield();
  }
  EXPECT_TRUE(Admits(**file, "Bearer new"));
  EXPECT_FALSE(Admits(**file, "Bearer old"));
}

TEST_F(TokenFileTest, AFileThatIsGoneLocksNobodyOut) {
  const std::string path = Write("secret");
  const auto file = TokenFile::Open(path);
  ASSERT_TRUE(file.ok());
  std::filesystem::remove(path);
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(1500);
  while (std::chrono::steady_clock::now() < end) ASSERT_TRUE(Admits(**file, "Bearer secret"));
}

TEST_F(TokenFileTest, MustBeThereAndHaveAToken) {
  const absl::Status gone = TokenFile::Open(dir_.path() + "/none").status();
  EXPECT_EQ(gone.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(gone.message()), HasSubstr("--token_file: "));
  EXPECT_THAT(std::string(TokenFile::Open(Write(" \n")).status().message()),
              HasSubstr("has no token"));
}

}  // namespace
}  // namespace tokendraw
