#include "service/listener.h"

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/functional/function_ref.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace tokendraw {

std::string UnixPath(const std::string& address) {
  return address.rfind("unix:", 0) == 0 ? address.substr(5) : "";
}

namespace {

constexpr int64_t kUnchanged = -1;  // of chown

// The number that `name` is or stands for; `find` looks it up and returns -1 if there is none.
absl::StatusOr<int64_t> ParseOwner(const std::string& name,
                                   absl::FunctionRef<int64_t(const char*)> find) {
  if (name.empty()) return kUnchanged;
  int64_t number = 0;
  if (absl::SimpleAtoi(name, &number) && number >= 0) return number;
  number = find(name.c_str());
  if (number >= 0) return number;
  return absl::InvalidArgumentError(absl::StrCat("--socket_owner: there is no '", name, "'"));
}

}  // namespace

absl::Status SetOwner(const std::string& path, const std::string& owner) {
  const size_t colon = std::min(owner.find(':'), owner.size());
  const auto user = ParseOwner(owner.substr(0, colon), [](const char* name) -> int64_t {
    const passwd* const found = getpwnam(name);
    return found == nullptr ? -1 : int64_t{found->pw_uid};
  });
  if (!user.ok()) return user.status();
  const std::string group_name = colon == owner.size() ? "" : owner.substr(colon + 1);
  const auto group = ParseOwner(group_name, [](const char* name) -> int64_t {
    const struct group* const found = getgrnam(name);
    return found == nullptr ? -1 : int64_t{found->gr_gid};
  });
  if (!group.ok()) return group.status();
  if (lchown(path.c_str(), static_cast<uid_t>(*user), static_cast<gid_t>(*group)) == 0) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(absl::StrCat("--socket_owner: cannot give ", path, " to ",
                                                    owner, ": ", std::strerror(errno)));
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
