#include "service/listener.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace tokendraw {

std::string UnixPath(const std::string& address) {
  return address.rfind("unix:", 0) == 0 ? address.substr(5) : "";
}

absl::StatusOr<std::unique_ptr<SocketLock>> SocketLock::Take(const std::string& path) {
  const std::string lock_path = path + ".lock";
  const int fd = open(lock_path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("cannot open ", lock_path, ": ", std::strerror(errno)));
  }
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    close(fd);
    return absl::FailedPreconditionError(
        absl::StrCat("another server is serving on ", path, " (it holds ", lock_path, ")"));
  }
  return std::unique_ptr<SocketLock>(new SocketLock(fd));
}

SocketLock::~SocketLock() { close(fd_); }

ScopedFileMode::ScopedFileMode(uint32_t mode) : previous_(umask(~mode & 0777)) {}

ScopedFileMode::~ScopedFileMode() { umask(previous_); }

}  // namespace tokendraw
