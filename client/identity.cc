#include "client/identity.h"

#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>

#include <fstream>

#include "absl/strings/str_cat.h"

namespace tokendraw {
namespace {

constexpr unsigned kRefreshSeconds = 5;

// The first word of the file; empty if it cannot be read.
std::string ReadToken(const std::string& file) {
  std::ifstream in(file);
  std::string token;
  in >> token;
  return token;
}

absl::Status CheckReadable(const char* name, const std::string& file) {
  if (file.empty() || std::ifstream(file)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(name, ": ", file, " cannot be read"));
}

std::shared_ptr<grpc::ChannelCredentials> MakeCredentials(const TlsOptions& options) {
  namespace tls = grpc::experimental;
  tls::TlsChannelCredentialsOptions settings;
  const bool has_cert = !options.cert_file.empty();
  if (has_cert || !options.ca_file.empty()) {
    settings.set_certificate_provider(std::make_shared<tls::FileWatcherCertificateProvider>(
        options.key_file, options.cert_file, options.ca_file, kRefreshSeconds));
  }
  if (!options.ca_file.empty()) settings.watch_root_certs();
  if (has_cert) settings.watch_identity_key_cert_pairs();
  return tls::TlsCredentials(settings);
}

}  // namespace

absl::StatusOr<std::shared_ptr<Identity>> Identity::Create(const ClientOptions& options) {
  const std::shared_ptr<Identity> identity(new Identity);
  identity->credentials_ = grpc::InsecureChannelCredentials();
  if (options.tls) {
    absl::Status check = CheckReadable("tls.ca_file", options.tls->ca_file);
    check.Update(CheckReadable("tls.cert_file", options.tls->cert_file));
    check.Update(CheckReadable("tls.key_file", options.tls->key_file));
    if (options.tls->cert_file.empty() != options.tls->key_file.empty()) {
      check.Update(absl::InvalidArgumentError("tls.cert_file and tls.key_file go together"));
    }
    if (!check.ok()) return check;
    identity->credentials_ = MakeCredentials(*options.tls);
    identity->server_name_ = options.tls->server_name;
  }
  identity->token_file_ = options.token_file;
  if (!options.token_file.empty()) {
    identity->token_ = ReadToken(options.token_file);
    if (identity->token_.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("token_file: ", options.token_file, " cannot be read or has no token"));
    }
  }
  return identity;
}

void Identity::AddTo(grpc::ChannelArguments& args) const {
  if (!server_name_.empty()) args.SetSslTargetNameOverride(server_name_);
}

void Identity::Authorize(grpc::ClientContext& context) const {
  if (token_file_.empty()) return;
  const std::string token = ReadToken(token_file_);
  const std::lock_guard lock(mutex_);
  if (!token.empty()) token_ = token;
  context.AddMetadata("authorization", absl::StrCat("Bearer ", token_));
}

}  // namespace tokendraw
