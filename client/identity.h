// What a client proves itself with, and what it wants of servers; private to the library.
#ifndef TOKENDRAW_CLIENT_IDENTITY_H_
#define TOKENDRAW_CLIENT_IDENTITY_H_

#include <grpcpp/grpcpp.h>

#include <memory>
#include <mutex>
#include <string>

#include "absl/status/statusor.h"
#include "client/options.h"

namespace tokendraw {

// Thread-safe.
class Identity {
 public:
  // INVALID_ARGUMENT if a file of `options` cannot be read.
  static absl::StatusOr<std::shared_ptr<Identity>> Create(const ClientOptions& options);

  // For addresses with a port.
  const std::shared_ptr<grpc::ChannelCredentials>& credentials() const { return credentials_; }
  // Adds what those need to a channel's.
  void AddTo(grpc::ChannelArguments& args) const;
  // Adds the token, if there is one, to a call that has not started. The file is read again for
  // each call: it is small, and may have changed.
  void Authorize(grpc::ClientContext& context) const;

 private:
  Identity() = default;

  std::shared_ptr<grpc::ChannelCredentials> credentials_;
  std::string server_name_;
  std::string token_file_;
  mutable std::mutex mutex_;
  mutable std::string token_;  // as it was read last; guarded by mutex_
};

}  // namespace tokendraw

#endif  // TOKENDRAW_CLIENT_IDENTITY_H_
