// The flags of SamplingParams, one for each field, and of RowSpec.
#ifndef TOKENDRAW_CLIENT_CLI_PARAM_FLAGS_H_
#define TOKENDRAW_CLIENT_CLI_PARAM_FLAGS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/flags.h"
#include "tokendraw/v1/sampling.pb.h"

namespace tokendraw::cli {

// A flag for each field of SamplingParams, in field order and of the field's name. The flag of a
// message field (logprobs) sets the message's first field; its other fields have flags of their
// own.
std::vector<Flag> ParamFlags();

// The parameters that the flags set; all else stays unset. INVALID_ARGUMENT naming the flag.
absl::StatusOr<v1::SamplingParams> ParamsFromFlags(const Arguments& arguments);

// The flags of RowSpec: what every row of a command has in common.
std::vector<Flag> RowFlags();

// INVALID_ARGUMENT naming the flag.
absl::StatusOr<v1::RowSpec> RowFromFlags(const Arguments& arguments);

}  // namespace tokendraw::cli

#endif  // TOKENDRAW_CLIENT_CLI_PARAM_FLAGS_H_
