#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "absl/strings/str_cat.h"
#include "sampling/profile.h"
#include "service/convert.h"

namespace tokendraw {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::RepeatedField;
using google::protobuf::RepeatedPtrField;

// A rule of sampling/params.h with the field of the same name.
struct BoundRule {
  const sampling::ParamRule* rule;
  const FieldDescriptor* field;
};

const std::vector<BoundRule>& BoundRules() {
  static const auto* const kRules = [] {
    auto* rules = new std::vector<BoundRule>;
    for (const sampling::ParamRule& rule : sampling::ParamRules()) {
      rules->push_back({&rule, v1::SamplingParams::descriptor()->FindFieldByName(rule.name)});
    }
    return rules;
  }();
  return *kRules;
}

double ReadNumber(const v1::SamplingParams& proto, const FieldDescriptor* field) {
  const auto* reflection = v1::SamplingParams::GetReflection();
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return reflection->GetDouble(proto, field);
    case FieldDescriptor::CPPTYPE_FLOAT:
      return reflection->GetFloat(proto, field);
    default:
      return reflection->GetInt32(proto, field);
  }
}

// FILTER_TOP_N_SIGMA is 1, and so on, in the order of sampling::Filter.
std::optional<sampling::Filter> ToFilter(int filter) {
  if (filter < v1::FILTER_TOP_N_SIGMA || filter > v1::FILTER_ADAPTIVE_P) return std::nullopt;
  return static_cast<sampling::Filter>(filter - v1::FILTER_TOP_N_SIGMA);
}
static_assert(v1::FILTER_ADAPTIVE_P - v1::FILTER_TOP_N_SIGMA ==
              static_cast<int>(sampling::Filter::kAdaptiveP));

// PROFILE_DEFAULT is 1, and so on, in the order of sampling::Profile.
sampling::Profile ToProfile(const v1::SamplingParams& proto, const std::string& path,
                            Violations& violations) {
  if (proto.profile() == v1::PROFILE_UNSPECIFIED) return sampling::Profile::kDefault;
  if (!v1::Profile_IsValid(proto.profile())) {
    violations.Add(path + ".profile", absl::StrCat("unknown profile ", proto.profile()));
    return sampling::Profile::kDefault;
  }
  return static_cast<sampling::Profile>(proto.profile() - v1::PROFILE_DEFAULT);
}
static_assert(v1::PROFILE_TEXTGEN_WEBUI - v1::PROFILE_DEFAULT ==
              static_cast<int>(sampling::Profile::kTextgenWebui));

std::vector<int32_t> CheckedIds(const RepeatedField<int32_t>& ids, const std::string& path,
                                int32_t vocab_size, Violations& violations) {
  for (int i = 0; i < ids.size(); ++i) {
    if (ids[i] < 0 || ids[i] >= vocab_size) {
      violations.Add(absl::StrCat(path, "[", i, "]"),
                     absl::StrCat("id must be in [0, ", vocab_size, "), got ", ids[i]));
    }
  }
  return {ids.begin(), ids.end()};
}

std::vector<sampling::TokenSequence> CheckedSequences(
    const RepeatedPtrField<v1::TokenSequence>& sequences, const std::string& path,
    int32_t vocab_size, Violations& violations) {
  std::vector<sampling::TokenSequence> result;
  for (int i = 0; i < sequences.size(); ++i) {
    const std::string item = absl::StrCat(path, "[", i, "].token_ids");
    const auto& ids = sequences[i].token_ids();
    if (ids.empty()) violations.Add(item, "a sequence must have at least one token");
    result.push_back(CheckedIds(ids, item, vocab_size, violations));
  }
  return result;
}

// Each token of the history may be compared with a whole breaker.
void CheckBreakers(const v1::SamplingParams& proto, const std::string& path,
                   Violations& violations) {
  constexpr int kLongest = 64;
  for (int i = 0; i < proto.dry_breaker_sequences_size(); ++i) {
    if (proto.dry_breaker_sequences(i).token_ids_size() <= kLongest) continue;
    violations.Add(absl::StrCat(path, ".dry_breaker_sequences[", i, "].token_ids"),
                   absl::StrCat("a breaker must have at most ", kLongest, " tokens"));
  }
}

void ConvertLogitBias(const v1::SamplingParams& proto, const std::string& path, bool lenient,
                      int32_t vocab_size, sampling::Params& params, Violations& violations) {
  std::vector<int32_t> ids;
  for (int i = 0; i < proto.logit_bias_size(); ++i) {
    const v1::LogitBias& bias = proto.logit_bias(i);
    const std::string item = absl::StrCat(path, ".logit_bias[", i, "]");
    if (bias.id() < 0 || bias.id() >= vocab_size) {
      violations.Add(item + ".id",
                     absl::StrCat("id must be in [0, ", vocab_size, "), got ", bias.id()));
    }
    ids.push_back(bias.id());
    if (std::isnan(bias.bias()) || bias.bias() == std::numeric_limits<float>::infinity()) {
      if (!lenient) violations.Add(item + ".bias", "bias must be finite or -inf");
      continue;
    }
    params.logit_bias.push_back({bias.id(), bias.bias()});
  }
  std::sort(ids.begin(), ids.end());
  const auto twice = std::adjacent_find(ids.begin(), ids.end());
  if (twice != ids.end()) {
    violations.Add(path + ".logit_bias",
                   absl::StrCat("id ", *twice, " must be named at most once"));
  }
}

void ConvertChain(const v1::SamplingParams& proto, const std::string& path,
                  sampling::Params& params, Violations& violations) {
  if (proto.chain().empty()) return;
  params.chain.clear();
  for (int i = 0; i < proto.chain_size(); ++i) {
    const std::string item = absl::StrCat(path, ".chain[", i, "]");
    const std::optional<sampling::Filter> filter = ToFilter(proto.chain(i));
    if (!filter) {
      violations.Add(item, absl::StrCat("unknown filter ", proto.chain(i)));
    } else if (std::find(params.chain.begin(), params.chain.end(), *filter) != params.chain.end()) {
      violations.Add(item,
                     absl::StrCat(v1::Filter_Name(proto.chain(i)), " must be named at most once"));
    } else {
      params.chain.push_back(*filter);
    }
  }
  const auto adaptive =
      std::find(params.chain.begin(), params.chain.end(), sampling::Filter::kAdaptiveP);
  if (adaptive != params.chain.end() && adaptive + 1 != params.chain.end()) {
    violations.Add(path + ".chain", "FILTER_ADAPTIVE_P must be the last");
  }
}

void ConvertLogprobs(const v1::SamplingParams& proto, const std::string& path, bool lenient,
                     int32_t vocab_size, sampling::Params& params, Violations& violations) {
  if (!proto.has_logprobs()) return;
  const v1::Logprobs& logprobs = proto.logprobs();
  switch (logprobs.mode()) {
    case v1::LOGPROB_MODE_UNSPECIFIED:
    case v1::LOGPROB_MODE_RAW:
      params.logprobs = sampling::LogprobMode::kRaw;
      break;
    case v1::LOGPROB_MODE_PROCESSED:
      params.logprobs = sampling::LogprobMode::kProcessed;
      break;
    default:
      violations.Add(path + ".logprobs.mode", absl::StrCat("unknown mode ", logprobs.mode()));
  }
  if (logprobs.top_count() < 0 && !lenient) {
    violations.Add(path + ".logprobs.top_count", "top_count must be >= 0");
  }
  params.top_logprobs = std::max(logprobs.top_count(), 0);
  params.logprob_ids =
      CheckedIds(logprobs.token_ids(), path + ".logprobs.token_ids", vocab_size, violations);
}

void ConvertFrequencyScope(const v1::SamplingParams& proto, const std::string& path,
                           sampling::Params& params, Violations& violations) {
  switch (proto.frequency_scope()) {
    case v1::FREQUENCY_SCOPE_UNSPECIFIED:
      return;
    case v1::FREQUENCY_SCOPE_PROMPT_AND_OUTPUT:
      params.frequency_scope = sampling::FrequencyScope::kPromptAndOutput;
      return;
    case v1::FREQUENCY_SCOPE_OUTPUT:
      params.frequency_scope = sampling::FrequencyScope::kOutput;
      return;
    default:
      violations.Add(path + ".frequency_scope",
                     absl::StrCat("unknown frequency_scope ", proto.frequency_scope()));
  }
}

}  // namespace

void ConvertParams(const v1::SamplingParams& proto, const std::string& path,
                   v1::Validation validation, int32_t vocab_size, sampling::Params& params,
                   Violations& violations) {
  const bool lenient = validation == v1::VALIDATION_LENIENT;
  const sampling::Profile profile = ToProfile(proto, path, violations);
  const sampling::Rules& rules = sampling::RulesOf(profile);
  params = rules.absent;
  params.profile = profile;
  const auto* reflection = v1::SamplingParams::GetReflection();
  for (const BoundRule& bound : BoundRules()) {
    if (!reflection->HasField(proto, bound.field)) continue;
    sampling::SetField(bound.rule->field, ReadNumber(proto, bound.field), params);
  }
  if (lenient) {
    sampling::TurnOffBrokenRules(params);
  } else {
    for (const sampling::ParamRule* rule : sampling::BrokenRules(params)) {
      violations.Add(absl::StrCat(path, ".", rule->name), rule->text);
    }
  }
  params.p_less = proto.p_less();
  params.p_less_norm = proto.p_less_norm();
  params.xtc_skip_constrained = proto.xtc_skip_constrained();
  params.return_kept = proto.return_kept();
  const auto ids = [&](const RepeatedField<int32_t>& field, const char* name) {
    return CheckedIds(field, absl::StrCat(path, ".", name), vocab_size, violations);
  };
  const auto sequences = [&](const RepeatedPtrField<v1::TokenSequence>& field, const char* name) {
    return CheckedSequences(field, absl::StrCat(path, ".", name), vocab_size, violations);
  };
  params.xtc_protected_ids = ids(proto.xtc_protected_ids(), "xtc_protected_ids");
  CheckBreakers(proto, path, violations);
  params.dry_breaker_ids = ids(proto.dry_breaker_ids(), "dry_breaker_ids");
  params.dry_breaker_sequences = sequences(proto.dry_breaker_sequences(), "dry_breaker_sequences");
  params.bad_token_sequences = sequences(proto.bad_token_sequences(), "bad_token_sequences");
  params.stop_ids = ids(proto.stop_ids(), "stop_ids");
  params.allowed_ids = ids(proto.allowed_ids(), "allowed_ids");
  ConvertFrequencyScope(proto, path, params, violations);
  ConvertLogitBias(proto, path, lenient, vocab_size, params, violations);
  ConvertChain(proto, path, params, violations);
  ConvertLogprobs(proto, path, lenient, vocab_size, params, violations);
  if (rules.adjust != nullptr) rules.adjust(!proto.chain().empty(), params);
}

}  // namespace tokendraw
