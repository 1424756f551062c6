#include "client/cli/command.h"
#include "client/cli/number.h"
#include "client/cli/param_flags.h"

namespace tokendraw::cli {
namespace {

std::vector<Flag> Flags() {
  const std::vector<Flag> own = {
      {"vocab_size", "INTEGER", ">= 0", "0, unknown", "Token ids are checked against it."},
      {"lenient", "", "", "off", "Reports structural faults alone."}};
  return Join({ConnectionFlags(), own, ParamFlags()});
}

absl::StatusOr<v1::ValidateParamsRequest> MakeRequest(const Arguments& arguments) {
  v1::ValidateParamsRequest request;
  absl::StatusOr<v1::SamplingParams> params = ParamsFromFlags(arguments);
  if (!params.ok()) return params.status();
  *request.add_params() = *std::move(params);
  const absl::StatusOr<bool> lenient = Switch(arguments, "lenient");
  if (!lenient.ok()) return lenient.status();
  if (*lenient) request.set_validation(v1::VALIDATION_LENIENT);
  const absl::StatusOr<std::int32_t> vocab_size =
      ParseNumber<std::int32_t>(arguments.Get("vocab_size").value_or("0"));
  if (!vocab_size.ok()) {
    return absl::InvalidArgumentError("--vocab_size: " +
                                      std::string(vocab_size.status().message()));
  }
  request.set_vocab_size(*vocab_size);
  return request;
}

int RunValidate(const Arguments& arguments, const Streams& streams) {
  const absl::StatusOr<v1::ValidateParamsRequest> request = MakeRequest(arguments);
  if (!request.ok()) return FailUsage(request.status(), streams);
  const absl::StatusOr<std::unique_ptr<Client>> client = ConnectClient(arguments);
  if (!client.ok()) return FailUsage(client.status(), streams);
  const absl::StatusOr<v1::ValidateParamsResponse> response = (*client)->ValidateParams(*request);
  if (!response.ok()) return FailCall(response.status(), streams);
  for (const v1::ParamViolation& violation : response->violations()) {
    streams.out << violation.field() << ": " << violation.message() << "\n";
  }
  return response->violations().empty() ? kOk : kFailed;
}

}  // namespace

const Command kValidate{
    "validate", "[FLAGS]",
    "Prints what the server would refuse of these parameters, a line for each violation.", Flags,
    RunValidate};

}  // namespace tokendraw::cli
