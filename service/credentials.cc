#include "service/credentials.h"

#include <grpcpp/security/tls_credentials_options.h>

#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"

namespace tokendraw {
namespace {

constexpr unsigned kRefreshSeconds = 5;

// gRPC would start, and refuse every handshake.
absl::Status CheckPem(const char* flag, const std::string& path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  if (in && text.str().find("-----BEGIN ") != std::string::npos) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(flag, ": ", path, in ? " is not a PEM file" : " cannot be read"));
}

}  // namespace

absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> MakeCredentials(const Options& options) {
  if (options.tls_cert.empty()) return grpc::InsecureServerCredentials();
  absl::Status check = CheckPem("--tls_cert", options.tls_cert);
  check.Update(CheckPem("--tls_key", options.tls_key));
  const bool is_mutual = !options.tls_client_ca.empty();
  if (is_mutual) check.Update(CheckPem("--tls_client_ca", options.tls_client_ca));
  if (!check.ok()) return check;

  namespace tls = grpc::experimental;
  const auto files = std::make_shared<tls::FileWatcherCertificateProvider>(
      options.tls_key, options.tls_cert, options.tls_client_ca, kRefreshSeconds);
  tls::TlsServerCredentialsOptions settings(files);
  settings.watch_identity_key_cert_pairs();
  if (is_mutual) {
    settings.watch_root_certs();
    settings.set_cert_request_type(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  }
  return tls::TlsServerCredentials(settings);
}

}  // namespace tokendraw
