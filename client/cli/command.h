// The subcommands, and what they share.
#ifndef TOKENDRAW_CLIENT_CLI_COMMAND_H_
#define TOKENDRAW_CLIENT_CLI_COMMAND_H_

#include <istream>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/flags.h"
#include "client/client.h"

namespace tokendraw::cli {

enum ExitCode {
  kOk = 0,
  kFailed = 1,     // the call failed, or `validate` found something
  kUsage = 2,      // a flag or a file is wrong
  kRowErrors = 3,  // some rows got no token
};

struct Streams {
  std::istream& in;
  std::ostream& out;
  std::ostream& err;
};

struct Command {
  const char* name;
  const char* synopsis;     // the arguments after the name
  const char* description;  // for the help
  std::vector<Flag> (*flags)();
  int (*run)(const Arguments& arguments, const Streams& streams);
  bool takes_file = false;  // otherwise flags alone: positional arguments are bad usage
};

// sample, explain, validate, info, health, load.
extern const Command kSample;
extern const Command kExplain;
extern const Command kValidate;
extern const Command kInfo;
extern const Command kHealth;
extern const Command kLoad;

// Runs the subcommand that `words` (without the program's name) begins with.
int Run(const std::vector<std::string>& words, const Streams& streams);

// --server, --deadline_ms, those of TLS, and --token_file.
std::vector<Flag> ConnectionFlags();

// What those, or TOKENDRAW_SERVER, say. INVALID_ARGUMENT naming the flag.
absl::StatusOr<ClientOptions> ConnectionOptions(const Arguments& arguments);

// A client from them. INVALID_ARGUMENT naming the flag.
absl::StatusOr<std::unique_ptr<Client>> ConnectClient(const Arguments& arguments);
absl::StatusOr<std::unique_ptr<Client>> ConnectClient(const ClientOptions& options);

// Whether a switch is on. INVALID_ARGUMENT naming the flag, if its value is neither true nor false.
absl::StatusOr<bool> Switch(const Arguments& arguments, const std::string& name);

// Say what is wrong, and give the exit code.
int FailUsage(const absl::Status& status, const Streams& streams);
int FailCall(const absl::Status& status, const Streams& streams);

// One line of JSON with the proto's field names, fields with default values included.
std::string JsonOf(const google::protobuf::Message& message);

// The same with the fields that are set alone.
std::string JsonOfSet(const google::protobuf::Message& message);

}  // namespace tokendraw::cli

#endif  // TOKENDRAW_CLIENT_CLI_COMMAND_H_
