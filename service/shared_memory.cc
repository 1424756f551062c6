#include "service/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"

namespace tokendraw {
namespace {

constexpr size_t kMostMapped = 256;
constexpr size_t kLongestName = 255;

bool IsPlainName(const std::string& name) {
  return !name.empty() && name.size() <= kLongestName && name != "." && name != ".." &&
         name.find('/') == std::string::npos && name.find('\0') == std::string::npos;
}

// Closes a file descriptor unless it is released.
class File {
 public:
  explicit File(int descriptor) : descriptor_(descriptor) {}
  ~File() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  int get() const { return descriptor_; }
  int Release() { return std::exchange(descriptor_, -1); }

 private:
  int descriptor_;
};

}  // namespace

Mapping::~Mapping() {
  munmap(start_, size_);
  close(file_);
}

absl::StatusOr<std::unique_ptr<SharedMemory>> SharedMemory::Open(const std::string& path) {
  File directory(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct stat status;
  if (directory.get() < 0 || fstat(directory.get(), &status) != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("--shm_dir: cannot open directory '", path, "': ", strerror(errno)));
  }
  return std::unique_ptr<SharedMemory>(new SharedMemory(directory.Release(), status.st_uid));
}

SharedMemory::~SharedMemory() { close(directory_); }

std::shared_ptr<const Mapping> SharedMemory::Map(const std::string& name, int64_t offset,
                                                 int64_t bytes, const std::string& path,
                                                 Violations& violations) {
  if (!IsPlainName(name)) {
    violations.Add(path + ".name",
                   absl::StrCat("name must be a plain file name of 1 to ", kLongestName,
                                " bytes: no '/', no NUL, not \".\" or \"..\""));
    return nullptr;
  }
  // Neither a link nor, waiting for a writer, a pipe.
  constexpr int kFlags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  File file(openat(directory_, name.c_str(), kFlags));
  struct stat status;
  if (file.get() < 0 || fstat(file.get(), &status) != 0) {
    violations.Add(path + ".name", absl::StrCat("cannot open the file: ", strerror(errno)));
    return nullptr;
  }
  if (!S_ISREG(status.st_mode)) {
    violations.Add(path + ".name", "name must be that of a regular file");
    return nullptr;
  }
  if (status.st_uid != geteuid() && status.st_uid != owner_) {
    violations.Add(path + ".name",
                   "the file must belong to the server's user or to that of --shm_dir");
    return nullptr;
  }
  const auto size = static_cast<int64_t>(status.st_size);
  if (offset < 0 || offset > size || bytes > size - offset) {
    violations.Add(path + ".offset", absl::StrCat("expected ", bytes, " bytes from offset ", offset,
                                                  " on, the file has ", size, " bytes"));
    return nullptr;
  }

  const std::lock_guard lock(mutex_);
  if (++maps_ % kMapsPerLook == 0) ForgetRemoved();
  const auto known = std::find_if(known_.begin(), known_.end(), [&](const Known& other) {
    return other.device == status.st_dev && other.inode == status.st_ino;
  });
  if (known != known_.end()) {
    const auto mapped = static_cast<int64_t>(known->mapping->bytes().size());
    if (offset + bytes <= mapped) {
      known_.splice(known_.begin(), known_, known);
      return known->mapping;
    }
    known_.erase(known);  // the file has grown
  }
  ForgetRemoved();
  while (known_.size() >= kMostMapped) known_.pop_back();  // not used for longest
  void* const start =
      mmap(nullptr, static_cast<size_t>(size), PROT_READ, MAP_SHARED, file.get(), 0);
  if (start == MAP_FAILED) {
    violations.Add(path + ".name", absl::StrCat("cannot map the file: ", strerror(errno)));
    return nullptr;
  }
  known_.push_front({status.st_dev, status.st_ino,
                     std::make_shared<Mapping>(file.Release(), static_cast<size_t>(size), start)});
  return known_.front().mapping;
}

size_t SharedMemory::mapped() const {
  const std::lock_guard lock(mutex_);
  return known_.size();
}

// Only the mapping still holds their memory.
void SharedMemory::ForgetRemoved() {
  known_.remove_if([](const Known& known) {
    struct stat status;
    return fstat(known.mapping->file(), &status) != 0 || status.st_nlink == 0;
  });
}

}  // namespace tokendraw
