// Who may call: whoever brings one of the tokens in a file.
#ifndef TOKENDRAW_SERVICE_TOKEN_FILE_H_
#define TOKENDRAW_SERVICE_TOKEN_FILE_H_

#include <grpcpp/server_context.h>
#include <sys/stat.h>

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "service/clock.h"

namespace tokendraw {

// A file of tokens, one a line, several while they are being changed. It is read again once it has
// changed, so that no restart is needed; while it is gone or empty the last tokens hold.
// Thread-safe.
class TokenFile {
 public:
  // INVALID_ARGUMENT if the file cannot be read or has no token.
  static absl::StatusOr<std::unique_ptr<TokenFile>> Open(const std::string& path);

  // UNAUTHENTICATED unless the call has the metadata `authorization: Bearer TOKEN`. The text never
  // has what the caller brought.
  absl::Status Check(const grpc::ServerContextBase& context);
  // Of that metadata, or nothing.
  absl::Status CheckHeader(std::string_view authorization);

 private:
  explicit TokenFile(std::string path) : path_(std::move(path)) {}

  absl::Status Read();  // with mutex_ held, or before there are threads

  const std::string path_;
  std::mutex mutex_;  // guards what stands below
  std::vector<std::string> tokens_;
  struct stat file_ = {};  // that they are from
  Clock::time_point looked_;
};

}  // namespace tokendraw

#endif  // TOKENDRAW_SERVICE_TOKEN_FILE_H_
