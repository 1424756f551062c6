// TLS, for addresses with a port. A socket file has its mode.
#ifndef TOKENDRAW_SERVICE_CREDENTIALS_H_
#define TOKENDRAW_SERVICE_CREDENTIALS_H_

#include <grpcpp/security/server_credentials.h>

#include <memory>

#include "absl/status/statusor.h"
#include "service/options.h"

namespace tokendraw {

// With --tls_cert: TLS, whose files are read again when they have changed; with --tls_client_ca
// too, clients must have a certificate of that authority. Without: none. INVALID_ARGUMENT if a file
// cannot be read or is no PEM file.
absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> MakeCredentials(const Options& options);

}  // namespace tokendraw

#endif  // TOKENDRAW_SERVICE_CREDENTIALS_H_
