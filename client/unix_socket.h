// Sockets that gRPC is given ready made; private to the library.
#ifndef TOKENDRAW_CLIENT_UNIX_SOCKET_H_
#define TOKENDRAW_CLIENT_UNIX_SOCKET_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"

namespace tokendraw {

// The path in "unix:PATH" or "unix:///PATH"; nothing for any other address.
std::optional<std::string> UnixPath(const std::string& address);

// A descriptor connected to the server at `path`, with a send buffer of 1 MiB where the kernel
// allows it: with its default, gRPC writes a row in many small pieces. UNAVAILABLE with the path if
// nobody listens; INVALID_ARGUMENT if the path is too long for a socket.
absl::StatusOr<int> ConnectUnixSocket(const std::string& path);

}  // namespace tokendraw

#endif  // TOKENDRAW_CLIENT_UNIX_SOCKET_H_
