#include "client/unix_socket.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace tokendraw {
namespace {

constexpr int kSendBufferBytes = 1 << 20;

}  // namespace

std::optional<std::string> UnixPath(const std::string& address) {
  if (address.starts_with("unix:///")) return address.substr(std::strlen("unix://"));
  if (address.starts_with("unix:")) return address.substr(std::strlen("unix:"));
  return std::nullopt;
}

absl::StatusOr<int> ConnectUnixSocket(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof(address.sun_path)) {
    return absl::InvalidArgumentError(absl::StrCat("the path of a unix socket has 1 to ",
                                                   sizeof(address.sun_path) - 1,
                                                   " bytes: unix:", path));
  }
  path.copy(address.sun_path, path.size());
  // Does not wait for a server whose queue is full: EAGAIN.
  const int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (descriptor < 0) return absl::ErrnoToStatus(errno, "socket");
  setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &kSendBufferBytes, sizeof(kSendBufferBytes));
  if (connect(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    const int error = errno;
    close(descriptor);
    return absl::UnavailableError(absl::StrCat("connect to unix:", path, ": ", strerror(error)));
  }
  return descriptor;
}

}  // namespace tokendraw
