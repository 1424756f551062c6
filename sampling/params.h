// Every sampler parameter: its default, its range, its error text. The one table of them.
#ifndef TOKENDRAW_SAMPLING_PARAMS_H_
#define TOKENDRAW_SAMPLING_PARAMS_H_

#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace tokendraw::sampling {

// The row filters, numbered as in params.proto.
enum class Filter {
  kTopNSigma,
  kPLess,
  kTypicalP,
  kXtc,
  kTemperature,
  kTopK,
  kTopP,
  kMinP,
  kPLessNorm,
  kSmoothing,
  kTopH,
  kTopA,
  kTfsZ,
  kEpsilonCutoff,
  kEtaCutoff,
  kMirostat,
  kAdaptiveP,
};

// Whose sampling it is: see profile.h.
enum class Profile {
  kDefault,
  kLlamaCpp,
  kTransformers,
  kVllm,
  kMlxcel,
  kSharpInference,
  kTextgenWebui,
};

enum class FrequencyScope { kPromptAndOutput, kOutput };

enum class LogprobMode { kNone, kRaw, kProcessed };

struct LogitBias {
  int32_t id = 0;  // [0, V), each id at most once
  float bias = 0;  // finite or -inf
};

// Token ids in [0, V), at least one.
using TokenSequence = std::vector<int32_t>;

// One parameter set. The defaults switch everything off; proto/tokendraw/v1/params.proto says what
// each field does. What acts on float32 logits is float, what acts on probabilities is double.
struct Params {
  double temperature = 1.0;
  int32_t top_k = 0;
  double top_p = 1.0;
  double min_p = 0.0;
  double typical_p = 1.0;
  double top_n_sigma = 0.0;
  bool p_less = false;
  bool p_less_norm = false;
  double dynatemp_range = 0.0;
  double dynatemp_exponent = 1.0;
  double smoothing_factor = 0.0;
  double smoothing_curve = 1.0;
  double top_a = 0.0;
  double tfs_z = 1.0;
  double epsilon_cutoff = 0.0;
  double eta_cutoff = 0.0;
  double top_h = 0.0;
  int32_t mirostat = 0;
  double mirostat_tau = 5.0;
  double mirostat_eta = 0.1;
  double adaptive_target = -1.0;
  double adaptive_decay = 0.9;
  double xtc_probability = 0.0;
  double xtc_threshold = 0.1;
  std::vector<int32_t> xtc_protected_ids;
  bool xtc_skip_constrained = false;
  float repetition_penalty = 1.0f;
  float repetition_penalty_slope = 1.0f;
  float frequency_penalty = 0.0f;
  float presence_penalty = 0.0f;
  int32_t penalty_last_n = -1;
  FrequencyScope frequency_scope = FrequencyScope::kPromptAndOutput;
  float dry_multiplier = 0.0f;
  float dry_base = 1.75f;
  int32_t dry_allowed_length = 2;
  int32_t dry_penalty_last_n = -1;
  std::vector<int32_t> dry_breaker_ids;
  std::vector<TokenSequence> dry_breaker_sequences;
  int32_t no_repeat_ngram_size = 0;
  std::vector<TokenSequence> bad_token_sequences;
  int32_t min_tokens = 0;
  std::vector<int32_t> stop_ids;
  std::vector<int32_t> allowed_ids;
  std::vector<LogitBias> logit_bias;
  int32_t min_keep = 1;
  std::vector<Filter> chain = {Filter::kTopNSigma, Filter::kPLess,         Filter::kPLessNorm,
                               Filter::kTypicalP,  Filter::kXtc,           Filter::kTemperature,
                               Filter::kSmoothing, Filter::kTopH,          Filter::kTopK,
                               Filter::kTopP,      Filter::kMinP,          Filter::kTopA,
                               Filter::kTfsZ,      Filter::kEpsilonCutoff, Filter::kEtaCutoff,
                               Filter::kMirostat,  Filter::kAdaptiveP};
  LogprobMode logprobs = LogprobMode::kNone;
  int32_t top_logprobs = 0;
  std::vector<int32_t> logprob_ids;
  bool return_kept = false;
  Profile profile = Profile::kDefault;

  // Whether a Draw carries the state that its sequence goes on with.
  bool HasState() const { return mirostat != 0 || adaptive_target >= 0; }
  // Whether a Draw carries more than its token.
  bool WantsDetail() const { return logprobs != LogprobMode::kNone || return_kept; }
};

// A scalar parameter with a range. `name` is its field in params.proto, `text` the error.
struct ParamRule {
  using Field = std::variant<double Params::*, float Params::*, int32_t Params::*>;

  const char* name;
  Field field;
  bool (*in_range)(double value);  // false for NaN
  const char* text;
  Field off_field;   // what VALIDATION_LENIENT sets when the value is out of range ...
  double off_value;  // ... and to what
};

// All of them, in the order of the fields in params.proto.
std::span<const ParamRule> ParamRules();

// The value of `field` in `params`, exactly.
double GetField(const Params& params, const ParamRule::Field& field);
void SetField(const ParamRule::Field& field, double value, Params& params);

// The rules that `params` breaks, in table order.
std::vector<const ParamRule*> BrokenRules(const Params& params);

// Replaces each value that breaks its rule by its "off".
void TurnOffBrokenRules(Params& params);

}  // namespace tokendraw::sampling

#endif  // TOKENDRAW_SAMPLING_PARAMS_H_
