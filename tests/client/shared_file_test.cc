#include "client/shared_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "tests/client/fake_server.h"
#include "tests/client/files.h"

namespace tokendraw {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::UnorderedElementsAreArray;

class SharedFileTest : public testing::Test {
 protected:
  std::unique_ptr<SharedFile> Create(std::size_t bytes) {
    auto file = SharedFile::Create(directory_, bytes);
    EXPECT_TRUE(file.ok()) << file.status();
    return *std::move(file);
  }

  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(dir_.path())) {
      names.push_back(entry.path().filename().string());
    }
    return names;
  }

  // What a killed process leaves: a file that nobody holds.
  std::string LeaveOrphan() {
    const pid_t child = fork();
    if (child == 0) {
      const auto file = SharedFile::Create(directory_, 100);
      _exit(file.ok() ? 0 : 1);
    }
    int end = -1;
    EXPECT_EQ(waitpid(child, &end, 0), child);
    EXPECT_EQ(end, 0);
    for (const std::string& name : Names()) {
      if (name.find("-" + std::to_string(child) + "-") != std::string::npos) return name;
    }
    ADD_FAILURE() << "the child left no file";
    return "";
  }

  const TempDir dir_{MemoryFileSystem()};
  const std::shared_ptr<const SharedDirectory> directory_ = *SharedDirectory::Open(dir_.path());
};

TEST_F(SharedFileTest, IsWhatIsWrittenAndGoesWithTheObject) {
  auto file = Create(10'000);
  EXPECT_THAT(Names(), ElementsAre(file->name()));
  EXPECT_THAT(file->name(), MatchesRegex("tokendraw-[0-9]+-[0-9a-f]+\\.rows"));
  EXPECT_THAT(file->name(), HasSubstr("-" + std::to_string(getpid()) + "-"));
  ASSERT_EQ(file->bytes().size(), 10'000u);
  std::memset(file->bytes().data(), 'x', 10'000);
  std::ifstream stream(dir_.File(file->name()), std::ios::binary);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(stream), {}), std::string(10'000, 'x'));
  file.reset();
  EXPECT_THAT(Names(), IsEmpty());
}

TEST_F(SharedFileTest, HasItsMemoryFromTheStart) {
  const auto file = Create(1 << 20);
  struct stat status;
  ASSERT_EQ(stat(dir_.File(file->name()).c_str(), &status), 0);
  EXPECT_GE(status.st_blocks * 512, 1 << 20);
  const mode_t mask = umask(0);
  umask(mask);
  EXPECT_EQ(status.st_mode & 0777, 0640 & ~mask);
}

TEST_F(SharedFileTest, WithoutRoomIsResourceExhaustedAndLeavesNothing) {
  if (MemoryFileSystem() != "/dev/shm") GTEST_SKIP() << "other file systems say EFBIG";
  const auto file = SharedFile::Create(directory_, std::size_t{1} << 50);
  EXPECT_TRUE(absl::IsResourceExhausted(file.status())) << file.status();
  EXPECT_THAT(std::string(file.status().message()),
              HasSubstr(std::to_string(std::size_t{1} << 50)));
  EXPECT_THAT(Names(), IsEmpty());
}

TEST_F(SharedFileTest, ADirectoryThatIsNoneIsAnError) {
  EXPECT_TRUE(absl::IsNotFound(SharedDirectory::Open(dir_.File("x")).status()));
  const std::string file = WriteFile(dir_.File("file"), "");
  EXPECT_FALSE(SharedDirectory::Open(file).ok());
}

TEST_F(SharedFileTest, ADirectoryIsItselfUnderAnyPath) {
  const std::string link = dir_.File("link");
  std::filesystem::create_directory_symlink(dir_.path(), link);
  EXPECT_TRUE(directory_->Is(**SharedDirectory::Open(link)));
  EXPECT_FALSE(directory_->Is(**SharedDirectory::Open("/")));
}

TEST_F(SharedFileTest, AnOrphanGoesWhenItIsOld) {
  const std::string orphan = LeaveOrphan();
  directory_->RemoveOrphans(std::chrono::hours(1));
  EXPECT_THAT(Names(), ElementsAre(orphan));
  // Creation looks for orphans, too; this one is too young.
  Create(1).reset();
  EXPECT_THAT(Names(), ElementsAre(orphan));
  directory_->RemoveOrphans(seconds(0));
  EXPECT_THAT(Names(), IsEmpty());
}

TEST_F(SharedFileTest, AFileWhoseOwnerLivesIsNoOrphan) {
  const auto file = Create(1);
  directory_->RemoveOrphans(seconds(0));
  EXPECT_THAT(Names(), ElementsAre(file->name()));
}

TEST_F(SharedFileTest, OtherNamesAreNotTouched) {
  const std::vector<std::string> names = {"tokendraw-1-0123456789abcdef.row",
                                          "okendraw-1-0123456789abcdef.rows",
                                          "tokendraw-x-0123456789abcdef.rows",
                                          "tokendraw--0123456789abcdef.rows",
                                          "tokendraw-1-0123456789abcde.rows",
                                          "tokendraw-1-0123456789abcdeg.rows",
                                          "tokendraw-1-00123456789abcdef.rows",
                                          "tokendraw-0123456789abcdef.rows",
                                          "tokendraw-1-0123456789abcdef.rows.x",
                                          "tokendraw-1-2-0123456789abcdef.rows",
                                          "tokendraw-.rows",
                                          "rows"};
  for (const std::string& name : names) WriteFile(dir_.File(name), "");
  WriteFile(dir_.File("tokendraw-1-0123456789abcdef.rows"), "");
  directory_->RemoveOrphans(seconds(0));
  EXPECT_THAT(Names(), UnorderedElementsAreArray(names));
}

TEST_F(SharedFileTest, LinksAndOtherTypesAreNotTouched) {
  const std::string victim = WriteFile(dir_.File("victim"), "");
  const std::string link = "tokendraw-1-0000000000000001.rows";
  const std::string directory = "tokendraw-1-0000000000000002.rows";
  const std::string pipe = "tokendraw-1-0000000000000003.rows";
  std::filesystem::create_symlink(victim, dir_.File(link));
  std::filesystem::create_directory(dir_.File(directory));
  ASSERT_EQ(mkfifo(dir_.File(pipe).c_str(), 0600), 0);
  directory_->RemoveOrphans(seconds(0));
  EXPECT_THAT(Names(), UnorderedElementsAreArray({std::string("victim"), link, directory, pipe}));
}

TEST_F(SharedFileTest, AFileOfAnotherUserIsNotTouched) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  const std::string name = "tokendraw-1-0123456789abcdef.rows";
  WriteFile(dir_.File(name), "");
  ASSERT_EQ(chown(dir_.File(name).c_str(), 12345, static_cast<gid_t>(-1)), 0);
  directory_->RemoveOrphans(seconds(0));
  EXPECT_THAT(Names(), ElementsAre(name));
}

}  // namespace
}  // namespace tokendraw
