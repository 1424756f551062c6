#include "service/token_file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace tokendraw {
namespace {

constexpr absl::Duration kBetweenLooks = absl::Seconds(1);
constexpr std::string_view kScheme = "Bearer ";

// In a time that does not tell where they differ.
bool AreSame(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned char difference = 0;
  for (size_t i = 0; i < a.size(); ++i) difference |= static_cast<unsigned char>(a[i] ^ b[i]);
  return difference == 0;
}

bool AreSame(const struct stat& a, const struct stat& b) {
  return a.st_ino == b.st_ino && a.st_size == b.st_size && a.st_mtim.tv_sec == b.st_mtim.tv_sec &&
         a.st_mtim.tv_nsec == b.st_mtim.tv_nsec;
}

}  // namespace

absl::StatusOr<std::unique_ptr<TokenFile>> TokenFile::Open(const std::string& path) {
  std::unique_ptr<TokenFile> file(new TokenFile(path));
  if (absl::Status read = file->Read(); !read.ok()) return read;
  return file;
}

absl::Status TokenFile::Read() {
  looked_ = Clock::now();
  struct stat status;
  std::ifstream in(path_);
  if (!in || stat(path_.c_str(), &status) != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("--token_file: ", path_, ": ", std::strerror(errno)));
  }
  std::vector<std::string> tokens;
  for (std::string line; std::getline(in, line);) {
    const std::string token(absl::StripAsciiWhitespace(line));
    if (!token.empty()) tokens.push_back(token);
  }
  if (tokens.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("--token_file: ", path_, " has no token"));
  }
  tokens_ = std::move(tokens);
  file_ = status;
  return absl::OkStatus();
}

absl::Status TokenFile::Check(const grpc::ServerContextBase& context) {
  const auto& metadata = context.client_metadata();
  const auto found = metadata.find("authorization");
  if (found == metadata.end()) return CheckHeader("");
  return CheckHeader({found->second.data(), found->second.size()});
}

absl::Status TokenFile::CheckHeader(std::string_view authorization) {
  const std::lock_guard lock(mutex_);
  if (Since(looked_) >= kBetweenLooks) {
    struct stat status;
    looked_ = Clock::now();
    if (stat(path_.c_str(), &status) == 0 && !AreSame(status, file_)) (void)Read();
  }
  const bool is_bearer = authorization.substr(0, kScheme.size()) == kScheme;
  const std::string_view token = is_bearer ? authorization.substr(kScheme.size()) : "";
  bool is_known = false;
  for (const std::string& known : tokens_) is_known |= AreSame(token, known);
  if (is_known) return absl::OkStatus();
  return absl::UnauthenticatedError(
      "this server wants a token: metadata `authorization: Bearer TOKEN`");
}

}  // namespace tokendraw
