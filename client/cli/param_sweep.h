// Values that a page lets people move the parameters of a row to.
#ifndef TOKENDRAW_CLIENT_CLI_PARAM_SWEEP_H_
#define TOKENDRAW_CLIENT_CLI_PARAM_SWEEP_H_

#include <optional>
#include <string>
#include <vector>

#include "tokendraw/v1/params.pb.h"

namespace tokendraw::cli {

struct ParamSweep {
  std::string name;             // field of SamplingParams
  std::optional<double> given;  // what the row has
  std::vector<double> values;   // others, ascending
};

// Of the parameters that people move most, and of all others of that kind that `params` sets.
std::vector<ParamSweep> SweepsOf(const v1::SamplingParams& params);

// `params` with one of them moved.
v1::SamplingParams WithValue(const v1::SamplingParams& params, const std::string& name,
                             double value);

}  // namespace tokendraw::cli

#endif  // TOKENDRAW_CLIENT_CLI_PARAM_SWEEP_H_
