#include <nlohmann/json.hpp>

#include "client/cli/command.h"
#include "client/cli/table.h"

namespace tokendraw::cli {
namespace {

std::vector<Flag> Flags() {
  std::vector<Flag> flags = ConnectionFlags();
  flags.push_back({"json", "", "", "off", "Prints one JSON object."});
  return flags;
}

int RunInfo(const Arguments& arguments, const Streams& streams) {
  const absl::StatusOr<bool> json = Switch(arguments, "json");
  if (!json.ok()) return FailUsage(json.status(), streams);
  const absl::StatusOr<std::unique_ptr<Client>> client = ConnectClient(arguments);
  if (!client.ok()) return FailUsage(client.status(), streams);
  const absl::StatusOr<v1::GetServerInfoResponse> info = (*client)->GetServerInfo();
  if (!info.ok()) return FailCall(info.status(), streams);
  if (*json) {
    streams.out << JsonOf(*info) << "\n";
    return kOk;
  }
  std::vector<std::vector<std::string>> rows;
  const auto fields = nlohmann::ordered_json::parse(JsonOf(*info), nullptr, false);
  for (const auto& [name, value] : fields.items()) {
    rows.push_back({name, value.is_string() ? value.get<std::string>() : value.dump()});
  }
  PrintTable(rows, {true, true}, streams.out);
  return kOk;
}

}  // namespace

const Command kInfo{"info", "[FLAGS]", "Prints the server's versions and limits.", Flags, RunInfo};

}  // namespace tokendraw::cli
