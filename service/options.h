// Everything that an operator can set. One struct; the flags, the environment variables and --help
// are made from its table.
#ifndef TOKENDRAW_SERVICE_OPTIONS_H_
#define TOKENDRAW_SERVICE_OPTIONS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace tokendraw {

struct Options {
  // Addresses to serve on: `unix:PATH` or `HOST:PORT` (port 0: any free one).
  std::vector<std::string> listen = {"127.0.0.1:50051"};
  // Permissions of a socket file, an octal number. Default: the owner alone may connect.
  std::string socket_mode = "0600";
  // Owner of a socket file: USER, USER:GROUP or :GROUP, names or numbers; empty: this process's.
  std::string socket_owner;

  // PEM files: the certificate chain and its key, for addresses with a port, and the authority of
  // the certificates that clients must then have (mutual TLS). Read again when they change.
  std::string tls_cert;
  std::string tls_key;
  std::string tls_client_ca;
  // File of tokens, one a line, of which every call must bring one; empty: none is needed.
  std::string token_file;
  // Serve on an address that other hosts reach, without TLS.
  bool allow_insecure = false;

  // Directory, on a memory file system, where workers on this host leave tensors; empty: off.
  std::string shm_dir;

  // Threads that compute rows; 0 is one per CPU.
  int64_t threads = 0;

  // Largest message in bytes, received or sent: 64 MiB, 105 float32 rows of V = 151,936.
  int64_t max_message_bytes = int64_t{64} << 20;
  // Most rows, and most draws over all rows, in a message.
  int64_t max_rows = 4096;
  int64_t max_draws = 65536;
  // Messages of one stream that are taken at a time; two keep the pipe full.
  int64_t max_in_flight = 2;
  // Request bytes and rows that are held at a time, over all callers; more is RESOURCE_EXHAUSTED.
  int64_t max_queued_bytes = int64_t{512} << 20;
  int64_t max_queued_rows = 65536;
  // A stream whose client has not taken a reply for so long is cancelled.
  int64_t write_timeout_ms = 30'000;

  // A connection is asked to go, and its streams are cut off grace_ms later, so that clients of a
  // pool spread over new replicas; 0: never.
  int64_t max_connection_age_ms = 0;

  // HOST:PORT of the Prometheus endpoint, /metrics; empty: none.
  std::string metrics_listen;
  // Lines on stderr: text, or json, one object each.
  std::string log_format = "text";
  // Requests that are logged: none, failed or all.
  std::string log_requests = "failed";
  // Serve gRPC's channelz, which shows its connections and calls.
  bool channelz = false;

  // After SIGTERM: how long the health service says NOT_SERVING while calls are still taken ...
  int64_t drain_delay_ms = 0;
  // ... and how long running calls may then take to finish.
  int64_t grace_ms = 10'000;
};

// What a command line asks for: to run with these options, or to print a text and exit.
struct CommandLine {
  Options options;
  std::optional<std::string> print;  // --help, --version
};

// Reads environment variables (TOKENDRAW_ and the flag's name in capitals), then flags
// (`--name value` or `--name=value`), which win. `args` is without the program's name. `--listen`
// may be given several times or hold several addresses with commas between. INVALID_ARGUMENT names
// the flag and its range.
absl::StatusOr<CommandLine> ParseCommandLine(
    std::span<const std::string> args,
    const std::function<const char*(const char* name)>& environment);

// The text of --help.
std::string HelpText();

// INVALID_ARGUMENT if options contradict each other or an address or mode makes no sense.
absl::Status CheckOptions(const Options& options);

// `socket_mode` as a number; INVALID_ARGUMENT unless it is octal and at most 0777.
absl::StatusOr<uint32_t> ParseSocketMode(const std::string& text);

}  // namespace tokendraw

#endif  // TOKENDRAW_SERVICE_OPTIONS_H_
