// Addresses to serve on. A unix socket path or a port belongs to one server at a time.
#ifndef TOKENDRAW_SERVICE_LISTENER_H_
#define TOKENDRAW_SERVICE_LISTENER_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace tokendraw {

// The path of `unix:PATH`, or empty.
std::string UnixPath(const std::string& address);

// Gives a file to `owner`: USER, USER:GROUP or :GROUP, names or numbers. INVALID_ARGUMENT if there
// is no such one, FAILED_PRECONDITION if this process may not.
absl::Status SetOwner(const std::string& path, const std::string& owner);

// Holds PATH.lock of a unix socket for as long as it lives. gRPC removes a path that it finds
// before it binds, so without the lock a second server would take the first one's callers away. The
// kernel lets go of the lock when the process ends, however it ends; the file itself stays.
class SocketLock {
 public:
  // FAILED_PRECONDITION if another server holds it.
  static absl::StatusOr<std::unique_ptr<SocketLock>> Take(const std::string& path);
  ~SocketLock();

 private:
  explicit SocketLock(int fd) : fd_(fd) {}

  const int fd_;
};

// While it lives, files (so sockets too) are made with `mode` at most. A setting of the whole
// process: use it before there are threads that make files.
class ScopedFileMode {
 public:
  explicit ScopedFileMode(uint32_t mode);
  ~ScopedFileMode();

 private:
  const uint32_t previous_;
};

}  // namespace tokendraw

#endif  // TOKENDRAW_SERVICE_LISTENER_H_
