#include "service/options.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <variant>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "service/version.h"

namespace tokendraw {
namespace {

using Field = std::variant<int64_t Options::*, std::string Options::*, bool Options::*,
                           std::vector<std::string> Options::*>;

struct Flag {
  const char* name;
  Field field;
  const char* help;
  int64_t lowest = 0;  // of numbers
  int64_t highest = std::numeric_limits<int64_t>::max();
};

constexpr int64_t kMaxInt32 = std::numeric_limits<int32_t>::max();

constexpr Flag kFlags[] = {
    {"listen", &Options::listen,
     "Address to serve on: unix:PATH or HOST:PORT (port 0: any free one). May be repeated, or hold "
     "several with commas between."},
    {"socket_mode", &Options::socket_mode, "Permissions of a socket file, octal."},
    {"socket_owner", &Options::socket_owner,
     "Owner of a socket file: USER, USER:GROUP or :GROUP; empty: this process's."},
    {"tls_cert", &Options::tls_cert,
     "PEM file of the certificate chain, for addresses with a port; read again when it changes."},
    {"tls_key", &Options::tls_key, "PEM file of its private key."},
    {"tls_client_ca", &Options::tls_client_ca,
     "PEM file of the authority of the certificates that clients must have; empty: they need "
     "none."},
    {"token_file", &Options::token_file,
     "File of tokens, one a line: calls must bring one as `authorization: Bearer TOKEN`. Read "
     "again "
     "when it changes; empty: none is needed."},
    {"allow_insecure", &Options::allow_insecure,
     "Serve on an address that other hosts reach, without TLS."},
    {"shm_dir", &Options::shm_dir,
     "Directory, on a memory file system, where workers on this host leave tensors; empty: off."},
    {"threads", &Options::threads, "Threads that compute rows; 0 is one per CPU.", 0, 1024},
    {"max_message_bytes", &Options::max_message_bytes,
     "Largest message in bytes, received or sent.", 1024, kMaxInt32},
    {"max_rows", &Options::max_rows, "Most rows in a message.", 1, 1 << 20},
    {"max_draws", &Options::max_draws, "Most draws in a message, over all its rows.", 1, 1 << 24},
    {"max_in_flight", &Options::max_in_flight, "Messages of one stream that are taken at a time.",
     1, 1024},
    {"max_queued_bytes", &Options::max_queued_bytes,
     "Request bytes held at a time, over all callers; more is RESOURCE_EXHAUSTED.", 1024},
    {"max_queued_rows", &Options::max_queued_rows,
     "Rows held at a time, over all callers; more is RESOURCE_EXHAUSTED.", 1},
    {"write_timeout_ms", &Options::write_timeout_ms,
     "A stream whose client has not taken a reply for so long is cancelled.", 1, kMaxInt32},
    {"max_connection_age_ms", &Options::max_connection_age_ms,
     "Age at which a connection is asked to go, its streams grace_ms later; 0: never.", 0,
     kMaxInt32},
    {"metrics_listen", &Options::metrics_listen,
     "HOST:PORT of the Prometheus endpoint, /metrics; empty: none."},
    {"log_format", &Options::log_format, "Lines on stderr: text, or json."},
    {"log_requests", &Options::log_requests, "Requests that are logged: none, failed or all."},
    {"channelz", &Options::channelz, "Serve gRPC's channelz, for debugging."},
    {"drain_delay_ms", &Options::drain_delay_ms,
     "After SIGTERM: how long health says NOT_SERVING while calls are still taken.", 0, kMaxInt32},
    {"grace_ms", &Options::grace_ms, "After that: how long running calls may take to finish.", 0,
     kMaxInt32},
};

std::string EnvironmentName(const char* flag) {
  return absl::StrCat("TOKENDRAW_", absl::AsciiStrToUpper(flag));
}

std::string DefaultText(const Flag& flag) {
  static const Options kDefaults;
  if (const auto* number = std::get_if<int64_t Options::*>(&flag.field)) {
    return absl::StrCat(kDefaults.**number);
  }
  if (const auto* text = std::get_if<std::string Options::*>(&flag.field)) {
    return (kDefaults.**text).empty() ? "none" : kDefaults.**text;
  }
  if (const auto* is_on = std::get_if<bool Options::*>(&flag.field)) {
    return kDefaults.**is_on ? "true" : "false";
  }
  return absl::StrJoin(kDefaults.*std::get<std::vector<std::string> Options::*>(flag.field), ",");
}

// Sets the field of `flag` from `value`. `source` is the flag or variable that the user wrote.
absl::Status Set(const Flag& flag, const std::string& source, const std::string& value,
                 Options& options) {
  if (const auto* text = std::get_if<std::string Options::*>(&flag.field)) {
    options.** text = value;
    return absl::OkStatus();
  }
  if (const auto* list = std::get_if<std::vector<std::string> Options::*>(&flag.field)) {
    for (const auto& item : absl::StrSplit(value, ',')) (options.**list).emplace_back(item);
    return absl::OkStatus();
  }
  if (const auto* is_on = std::get_if<bool Options::*>(&flag.field)) {
    if (value != "true" && value != "false") {
      return absl::InvalidArgumentError(
          absl::StrCat(source, " must be true or false, got '", value, "'"));
    }
    options.** is_on = value == "true";
    return absl::OkStatus();
  }
  int64_t number = 0;
  const char* end = value.data() + value.size();
  const auto [rest, error] = std::from_chars(value.data(), end, number);
  if (error != std::errc() || rest != end || number < flag.lowest || number > flag.highest) {
    return absl::InvalidArgumentError(absl::StrCat(source, " must be a number in [", flag.lowest,
                                                   ", ", flag.highest, "], got '", value, "'"));
  }
  options.*std::get<int64_t Options::*>(flag.field) = number;
  return absl::OkStatus();
}

// What the user lists replaces the default; it is not added to it.
void ClearLists(const Flag& flag, Options& options) {
  if (const auto* list = std::get_if<std::vector<std::string> Options::*>(&flag.field)) {
    (options.**list).clear();
  }
}

// Whether only this host reaches it.
bool IsLocal(const std::string& address) {
  if (address.rfind("unix:", 0) == 0) return true;
  const std::string host = address.substr(0, address.rfind(':'));
  return host == "localhost" || host == "[::1]" || host.rfind("127.", 0) == 0;
}

absl::Status CheckOneOf(const char* flag, const std::string& value,
                        std::initializer_list<const char*> choices) {
  for (const char* choice : choices) {
    if (value == choice) return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat(flag, " must be ", absl::StrJoin(choices, " or "), ", got '", value, "'"));
}

// That what goes out of this host is meant to.
absl::Status CheckSecurity(const Options& options) {
  if (options.tls_cert.empty() != options.tls_key.empty()) {
    return absl::InvalidArgumentError("--tls_cert and --tls_key go together");
  }
  if (options.tls_cert.empty() && !options.tls_client_ca.empty()) {
    return absl::InvalidArgumentError("--tls_client_ca needs --tls_cert and --tls_key");
  }
  for (const std::string& address : options.listen) {
    if (options.allow_insecure || !options.tls_cert.empty() || IsLocal(address)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("--listen: other hosts reach ", address,
                     ": set --tls_cert and --tls_key, or --allow_insecure"));
  }
  return absl::OkStatus();
}

// `flag` may also take unix:PATH if `takes_path`.
absl::Status CheckAddress(const char* flag, const std::string& address, bool takes_path) {
  // The path of a sockaddr_un with its end.
  constexpr size_t kMaxPath = 107;
  if (takes_path && address.rfind("unix:", 0) == 0) {
    const size_t length = address.size() - 5;
    if (length >= 1 && length <= kMaxPath) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat(flag, ": the path of '", address, "' must have 1 to ", kMaxPath, " bytes"));
  }
  const size_t colon = address.rfind(':');
  int port = -1;
  if (colon != std::string::npos && colon > 0) {
    const char* end = address.data() + address.size();
    const auto [rest, error] = std::from_chars(address.data() + colon + 1, end, port);
    if (error == std::errc() && rest == end && 0 <= port && port <= 65535) return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(flag, ": '", address, "' must be ",
                                                 takes_path ? "unix:PATH or " : "", "HOST:PORT"));
}

}  // namespace

absl::StatusOr<CommandLine> ParseCommandLine(
    std::span<const std::string> args,
    const std::function<const char*(const char* name)>& environment) {
  CommandLine result;
  for (const Flag& flag : kFlags) {
    const std::string name = EnvironmentName(flag.name);
    const char* value = environment(name.c_str());
    if (value == nullptr) continue;
    ClearLists(flag, result.options);
    if (absl::Status set = Set(flag, name, value, result.options); !set.ok()) return set;
  }
  std::vector<const Flag*> seen;
  for (size_t i = 0; i < args.size(); ++i) {
    const std::string& arg = args[i];
    if (arg == "--help") return CommandLine{.print = HelpText()};
    if (arg == "--version") {
      return CommandLine{.print = absl::StrCat("tokendrawd ", kVersion, "\n")};
    }
    const size_t equals = arg.find('=');
    const std::string name = arg.substr(0, equals);
    const auto* flag = std::find_if(std::begin(kFlags), std::end(kFlags), [&](const Flag& f) {
      return name == absl::StrCat("--", f.name);
    });
    if (flag == std::end(kFlags)) {
      return absl::InvalidArgumentError(absl::StrCat("unknown flag '", arg, "'; see --help"));
    }
    const bool is_switch = std::holds_alternative<bool Options::*>(flag->field);
    if (equals == std::string::npos && !is_switch && i + 1 == args.size()) {
      return absl::InvalidArgumentError(absl::StrCat(name, " needs a value"));
    }
    const std::string value = equals != std::string::npos ? arg.substr(equals + 1)
                              : is_switch                 ? "true"
                                                          : args[++i];
    if (std::find(seen.begin(), seen.end(), flag) == seen.end()) ClearLists(*flag, result.options);
    seen.push_back(flag);
    if (absl::Status set = Set(*flag, name, value, result.options); !set.ok()) return set;
  }
  if (absl::Status check = CheckOptions(result.options); !check.ok()) return check;
  return result;
}

std::string HelpText() {
  std::string text =
      "tokendrawd: turns logits into tokens, over gRPC.\n\n"
      "Usage: tokendrawd [--flag value]... A switch (default false) is on without a value.\n\n"
      "Each flag can also be set by the environment variable named below it.\n\n";
  for (const Flag& flag : kFlags) {
    absl::StrAppend(&text, "  --", flag.name, "  (default ", DefaultText(flag), ")\n      ",
                    flag.help, "\n      ", EnvironmentName(flag.name), "\n");
  }
  absl::StrAppend(&text, "  --help\n  --version\n");
  return text;
}

absl::Status CheckOptions(const Options& options) {
  for (const std::string& address : options.listen) {
    if (absl::Status check = CheckAddress("--listen", address, true); !check.ok()) return check;
  }
  if (absl::Status check = CheckSecurity(options); !check.ok()) return check;
  if (!options.metrics_listen.empty()) {
    absl::Status check = CheckAddress("--metrics_listen", options.metrics_listen, false);
    if (!check.ok()) return check;
  }
  absl::Status check = CheckOneOf("--log_format", options.log_format, {"text", "json"});
  check.Update(CheckOneOf("--log_requests", options.log_requests, {"none", "failed", "all"}));
  if (!check.ok()) return check;
  if (absl::Status check = ParseSocketMode(options.socket_mode).status(); !check.ok()) return check;
  if (options.max_queued_bytes < options.max_message_bytes) {
    return absl::InvalidArgumentError("--max_queued_bytes must be >= --max_message_bytes");
  }
  if (options.max_queued_rows < options.max_rows) {
    return absl::InvalidArgumentError("--max_queued_rows must be >= --max_rows");
  }
  return absl::OkStatus();
}

absl::StatusOr<uint32_t> ParseSocketMode(const std::string& text) {
  uint32_t mode = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, mode, 8);
  if (error != std::errc() || rest != end || mode > 0777) {
    return absl::InvalidArgumentError(
        absl::StrCat("--socket_mode must be an octal number in [0, 0777], got '", text, "'"));
  }
  return mode;
}

}  // namespace tokendraw
