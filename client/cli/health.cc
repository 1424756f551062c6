#include "client/cli/command.h"
#include "client/cli/table.h"

namespace tokendraw::cli {
namespace {

std::vector<Flag> Flags() {
  std::vector<Flag> flags = ConnectionFlags();
  flags.push_back({"service", "NAME", "", "tokendraw.v1.SamplingService",
                   "The service that is asked for; the empty name is the server's process."});
  return flags;
}

int RunHealth(const Arguments& arguments, const Streams& streams) {
  absl::StatusOr<ClientOptions> options = ConnectionOptions(arguments);
  if (!options.ok()) return FailUsage(options.status(), streams);
  const std::optional<std::string> service = arguments.Get("service");
  int exit_code = kOk;
  std::vector<std::vector<std::string>> rows;
  for (const std::string& address : std::vector(std::move(options->addresses))) {
    options->addresses = {address};
    const absl::StatusOr<std::unique_ptr<Client>> client = ConnectClient(*options);
    if (!client.ok()) return FailUsage(client.status(), streams);
    const absl::StatusOr<bool> serves =
        service ? (*client)->CheckHealth(*service) : (*client)->CheckHealth();
    if (serves.ok()) {
      rows.push_back({address, *serves ? "SERVING" : "NOT_SERVING"});
      if (!*serves) exit_code = kFailed;
    } else {
      rows.push_back({address, absl::StatusCodeToString(serves.status().code())});
      exit_code = FailCall(serves.status(), streams);
    }
  }
  PrintTable(rows, {true, true}, streams.out);
  return exit_code;
}

}  // namespace

const Command kHealth{"health", "[FLAGS]",
                      "Asks each server whether it serves, for probes: exit code 0 if all do. A "
                      "server that drains does not.",
                      Flags, RunHealth};

}  // namespace tokendraw::cli
