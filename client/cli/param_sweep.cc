#include "client/cli/param_sweep.h"

#include <algorithm>

namespace tokendraw::cli {
namespace {

using google::protobuf::FieldDescriptor;

struct Scale {
  const char* name;
  bool always;  // also where the row does not set it
  std::vector<double> values;
};

const std::vector<Scale>& Scales() {
  static const auto* const kScales = new std::vector<Scale>{
      {"temperature", true, {0, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.2, 1.5, 2}},
      {"top_k", true, {0, 1, 2, 3, 5, 10, 20, 40, 100}},
      {"top_p", true, {0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99, 1}},
      {"min_p", true, {0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5}},
      {"typical_p", true, {0.1, 0.2, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 1}},
      {"top_n_sigma", true, {0, 0.5, 1, 1.5, 2, 3, 5}},
      {"xtc_threshold", false, {0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5}},
      {"xtc_probability", false, {0, 0.1, 0.3, 0.5, 0.7, 0.9, 1}},
      {"repetition_penalty", false, {1, 1.05, 1.1, 1.2, 1.5, 2}},
      {"frequency_penalty", false, {-1, -0.5, 0, 0.5, 1, 2}},
      {"presence_penalty", false, {-1, -0.5, 0, 0.5, 1, 2}},
      {"dry_multiplier", false, {0, 0.2, 0.4, 0.8, 1.6, 3}},
      {"dynatemp_range", false, {0, 0.1, 0.25, 0.5, 0.75, 1}},
      {"smoothing_factor", false, {0, 0.1, 0.2, 0.3, 0.5, 1, 2}},
      {"top_a", false, {0, 0.05, 0.1, 0.2, 0.4, 0.8}},
      {"tfs_z", false, {0.3, 0.5, 0.7, 0.9, 0.95, 0.99, 1}},
      {"epsilon_cutoff", false, {0, 0.0001, 0.0005, 0.001, 0.005, 0.01}},
      {"eta_cutoff", false, {0, 0.0001, 0.0005, 0.001, 0.005, 0.01}},
      {"top_h", false, {0, 0.1, 0.2, 0.4, 0.6, 0.8, 1}},
      {"mirostat_tau", false, {0.5, 1, 2, 3, 4, 5, 7}},
      {"adaptive_target", false, {0.1, 0.2, 0.3, 0.5, 0.7, 0.9}},
  };
  return *kScales;
}

double ValueOf(const v1::SamplingParams& params, const FieldDescriptor* field) {
  const auto* reflection = params.GetReflection();
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return reflection->GetDouble(params, field);
    case FieldDescriptor::CPPTYPE_FLOAT:
      return reflection->GetFloat(params, field);
    default:
      return reflection->GetInt32(params, field);
  }
}

}  // namespace

std::vector<ParamSweep> SweepsOf(const v1::SamplingParams& params) {
  std::vector<ParamSweep> sweeps;
  for (const Scale& scale : Scales()) {
    const auto* field = v1::SamplingParams::descriptor()->FindFieldByName(scale.name);
    const bool is_set = params.GetReflection()->HasField(params, field);
    if (!is_set && !scale.always) continue;
    ParamSweep& sweep = sweeps.emplace_back();
    sweep.name = scale.name;
    sweep.values = scale.values;
    if (!is_set) continue;
    sweep.given = ValueOf(params, field);
    std::erase(sweep.values, *sweep.given);
  }
  return sweeps;
}

v1::SamplingParams WithValue(const v1::SamplingParams& params, const std::string& name,
                             double value) {
  v1::SamplingParams moved = params;
  const auto* field = v1::SamplingParams::descriptor()->FindFieldByName(name);
  const auto* reflection = moved.GetReflection();
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_DOUBLE:
      reflection->SetDouble(&moved, field, value);
      break;
    case FieldDescriptor::CPPTYPE_FLOAT:
      reflection->SetFloat(&moved, field, static_cast<float>(value));
      break;
    default:
      reflection->SetInt32(&moved, field, static_cast<std::int32_t>(value));
  }
  return moved;
}

}  // namespace tokendraw::cli
