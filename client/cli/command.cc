#include "client/cli/command.h"

#include <google/protobuf/util/json_util.h>

#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "client/cli/number.h"

namespace tokendraw::cli {
namespace {

const Command* const kCommands[] = {&kSample, &kExplain, &kValidate, &kInfo, &kHealth, &kLoad};

std::string OverallHelp() {
  std::string help = "Draws tokens from logits rows, on a tokendraw server.\n\nUsage:\n";
  for (const Command* command : kCommands) {
    absl::StrAppend(&help, "  tokendraw ", command->name, " ", command->synopsis, "\n");
  }
  absl::StrAppend(&help, "\n`tokendraw COMMAND --help` lists the flags of a command.\n",
                  "Exit codes: 0 done; 1 the call failed, or validate found something; 2 bad usage",
                  " or file; 3 some rows got no token.\n");
  return help;
}

std::string ToJson(const google::protobuf::Message& message, bool with_unset) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  options.always_print_primitive_fields = with_unset;
  std::string json;
  // Fails on malformed well-known types alone, which the protocol does not use.
  (void)google::protobuf::util::MessageToJsonString(message, &json, options);
  return json;
}

}  // namespace

int Run(const std::vector<std::string>& words, const Streams& streams) {
  if (!words.empty() && (words[0] == "--help" || words[0] == "help")) {
    streams.out << OverallHelp();
    return kOk;
  }
  for (const Command* command : kCommands) {
    if (words.empty() || words[0] != command->name) continue;
    std::vector<Flag> flags = command->flags();
    flags.push_back({"help", "", "", "", "Prints this."});
    const absl::StatusOr<Arguments> arguments = ParseArguments(flags, std::span(words).subspan(1));
    if (!arguments.ok()) return FailUsage(arguments.status(), streams);
    if (arguments->Has("help")) {
      streams.out << "Usage: tokendraw " << command->name << " " << command->synopsis << "\n\n"
                  << command->description << "\n\nFlags, as --name VALUE or --name=VALUE:\n"
                  << FlagHelp(flags);
      return kOk;
    }
    if (!command->takes_file && !arguments->positional.empty()) {
      return FailUsage(
          absl::InvalidArgumentError(absl::StrCat(command->name, " takes flags alone")), streams);
    }
    return command->run(*arguments, streams);
  }
  streams.err << OverallHelp();
  return kUsage;
}

std::vector<Flag> ConnectionFlags() {
  return {{"server", "ADDRESS", "unix:PATH or HOST:PORT", "$TOKENDRAW_SERVER or 127.0.0.1:50051",
           "A server; given several times, messages rotate over them.", true},
          {"deadline_ms", "INTEGER", "[1, 86400000]", "30000, and no waiting",
           "Longest time of one message; until then the command waits for a server to come up."},
          {"tls", "", "", "off", "TLS to addresses with a port; --tls_ca and --tls_cert imply it."},
          {"tls_ca", "FILE", "", "the system's", "Authority of the servers' certificates, PEM."},
          {"tls_cert", "FILE", "", "none", "This client's certificate chain, PEM."},
          {"tls_key", "FILE", "", "none", "Its private key, PEM."},
          {"tls_name", "NAME", "", "the HOST", "The name that the servers' certificates have."},
          {"token_file", "FILE", "", "none", "File with the token that the servers want."}};
}

absl::StatusOr<ClientOptions> ConnectionOptions(const Arguments& arguments) {
  ClientOptions options;
  const char* const variable = std::getenv("TOKENDRAW_SERVER");
  if (arguments.Has("server")) {
    options.addresses = arguments.flags.at("server");
  } else {
    options.addresses = {variable != nullptr && *variable != '\0' ? variable : "127.0.0.1:50051"};
  }
  const absl::StatusOr<bool> tls = Switch(arguments, "tls");
  if (!tls.ok()) return tls.status();
  if (*tls || arguments.Has("tls_ca") || arguments.Has("tls_cert")) {
    options.tls = TlsOptions{.ca_file = arguments.Get("tls_ca").value_or(""),
                             .cert_file = arguments.Get("tls_cert").value_or(""),
                             .key_file = arguments.Get("tls_key").value_or(""),
                             .server_name = arguments.Get("tls_name").value_or("")};
  }
  options.token_file = arguments.Get("token_file").value_or("");
  const std::optional<std::string> deadline = arguments.Get("deadline_ms");
  options.wait_for_ready = deadline.has_value();
  if (deadline) {
    const absl::StatusOr<std::int64_t> ms = ParseNumber<std::int64_t>(*deadline);
    if (!ms.ok() || *ms < 1 || *ms > 86'400'000) {
      return absl::InvalidArgumentError("--deadline_ms must be in [1, 86400000]");
    }
    options.deadline = std::chrono::milliseconds(*ms);
  }
  return options;
}

absl::StatusOr<std::unique_ptr<Client>> ConnectClient(const Arguments& arguments) {
  const absl::StatusOr<ClientOptions> options = ConnectionOptions(arguments);
  if (!options.ok()) return options.status();
  return ConnectClient(*options);
}

absl::StatusOr<std::unique_ptr<Client>> ConnectClient(const ClientOptions& options) {
  absl::StatusOr<std::unique_ptr<Client>> client = Client::Create(options);
  if (client.ok()) return client;
  return absl::InvalidArgumentError(
      absl::StrCat("--server: ", std::string(client.status().message())));
}

absl::StatusOr<bool> Switch(const Arguments& arguments, const std::string& name) {
  const std::string value = arguments.Get(name).value_or("false");
  if (value == "true" || value == "false") return value == "true";
  return absl::InvalidArgumentError(
      absl::StrCat("--", name, ": \"", value, "\" is neither true nor false"));
}

int FailUsage(const absl::Status& status, const Streams& streams) {
  streams.err << "tokendraw: " << std::string(status.message()) << "\n";
  return kUsage;
}

int FailCall(const absl::Status& status, const Streams& streams) {
  streams.err << absl::StatusCodeToString(status.code()) << ": " << std::string(status.message())
              << "\n";
  return kFailed;
}

std::string JsonOf(const google::protobuf::Message& message) { return ToJson(message, true); }

std::string JsonOfSet(const google::protobuf::Message& message) { return ToJson(message, false); }

}  // namespace tokendraw::cli
