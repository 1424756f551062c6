#include "client/shared_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <random>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"

namespace tokendraw {
namespace {

constexpr std::string_view kPrefix = "tokendraw-";
constexpr std::string_view kSuffix = ".rows";
constexpr std::string_view kDigits = "0123456789";
constexpr std::string_view kHexDigits = "0123456789abcdef";

// Longer than a file is between its creation and its lock.
constexpr std::chrono::seconds kOrphanAge{60};

std::string NewName() {
  std::random_device random;
  const auto number = static_cast<std::uint64_t>(random()) << 32 | random();
  return absl::StrCat("tokendraw-", getpid(), "-", absl::Hex(number, absl::kZeroPad16), ".rows");
}

bool AllOf(std::string_view text, std::string_view digits) {
  return !text.empty() && text.find_first_not_of(digits) == std::string_view::npos;
}

// Whether NewName may have made it.
bool IsOurName(std::string_view name) {
  if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix)) return false;
  name.remove_prefix(kPrefix.size());
  name.remove_suffix(kSuffix.size());
  const std::size_t dash = name.find('-');
  return dash != std::string_view::npos && AllOf(name.substr(0, dash), kDigits) &&
         name.size() == dash + 1 + 16 && AllOf(name.substr(dash + 1), kHexDigits);
}

bool IsOldFileOfOurs(const struct stat& status, std::chrono::seconds age) {
  using Clock = std::chrono::system_clock;  // not time(2), which may be behind a file's times
  const auto changed = Clock::from_time_t(std::max(status.st_mtime, status.st_ctime));
  return S_ISREG(status.st_mode) && status.st_uid == geteuid() && Clock::now() - changed >= age;
}

void RemoveIfOrphan(int directory, const char* name, std::chrono::seconds age) {
  // Neither a link nor, waiting for a writer, a pipe.
  const int file = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) return;
  struct stat status;
  if (fstat(file, &status) == 0 && IsOldFileOfOurs(status, age) &&
      flock(file, LOCK_EX | LOCK_NB) == 0) {
    unlinkat(directory, name, 0);
  }
  close(file);
}

}  // namespace

absl::StatusOr<std::shared_ptr<const SharedDirectory>> SharedDirectory::Open(
    const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return absl::ErrnoToStatus(errno, absl::StrCat("directory ", path));
  struct stat status;
  if (fstat(descriptor, &status) != 0) {
    const absl::Status error = absl::ErrnoToStatus(errno, absl::StrCat("directory ", path));
    close(descriptor);
    return error;
  }
  return std::shared_ptr<const SharedDirectory>(
      new SharedDirectory(descriptor, status.st_dev, status.st_ino));
}

SharedDirectory::~SharedDirectory() { close(descriptor_); }

void SharedDirectory::RemoveOrphans(std::chrono::seconds age) const {
  // A descriptor of its own: reading moves a position, and closes it in the end.
  const int descriptor = openat(descriptor_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  DIR* const entries = fdopendir(descriptor);
  if (entries == nullptr) {
    close(descriptor);
    return;
  }
  while (const dirent* entry = readdir(entries)) {
    if (IsOurName(entry->d_name)) RemoveIfOrphan(descriptor_, entry->d_name, age);
  }
  closedir(entries);
}

absl::StatusOr<std::unique_ptr<SharedFile>> SharedFile::Create(
    std::shared_ptr<const SharedDirectory> directory, std::size_t bytes) {
  directory->RemoveOrphans(kOrphanAge);
  const std::string name = NewName();
  const int descriptor = openat(directory->descriptor(), name.c_str(),
                                O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0640);
  if (descriptor < 0) return absl::ErrnoToStatus(errno, absl::StrCat("file ", name));
  // From here on the file goes with this object.
  std::unique_ptr<SharedFile> file(new SharedFile(std::move(directory), name, descriptor));
  if (flock(descriptor, LOCK_EX) != 0) return absl::ErrnoToStatus(errno, "flock");
  if (const int error = posix_fallocate(descriptor, 0, static_cast<off_t>(bytes)); error != 0) {
    return absl::ErrnoToStatus(error, absl::StrCat("a file of ", bytes, " bytes for rows"));
  }
  void* const start = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (start == MAP_FAILED) {
    return absl::ErrnoToStatus(errno, absl::StrCat("mapping ", bytes, " bytes for rows"));
  }
  file->bytes_ = {static_cast<std::byte*>(start), bytes};
  return file;
}

SharedFile::SharedFile(std::shared_ptr<const SharedDirectory> directory, std::string name,
                       int descriptor)
    : directory_(std::move(directory)), name_(std::move(name)), descriptor_(descriptor) {}

SharedFile::~SharedFile() {
  unlinkat(directory_->descriptor(), name_.c_str(), 0);
  if (!bytes_.empty()) munmap(bytes_.data(), bytes_.size());
  close(descriptor_);
}

}  // namespace tokendraw
