#include "sampling/profile.h"

#include <algorithm>
#include <array>
#include <initializer_list>

namespace tokendraw::sampling {
namespace {

using F = Filter;

// An engine's filters in its order, then those that it does not have, as PROFILE_DEFAULT has them.
// Off unless a request sets them, they change nothing else.
std::vector<Filter> Chain(std::initializer_list<Filter> own) {
  std::vector<Filter> chain = own;
  for (const Filter filter : Params().chain) {
    if (std::ranges::find(own, filter) == own.end()) chain.push_back(filter);
  }
  return chain;
}

// Mirostat takes the place of all filters and penalties.
void MirostatAlone(bool has_chain, Params& params) {
  if (params.mirostat == 0) return;
  params.repetition_penalty = 1;
  params.frequency_penalty = 0;
  params.presence_penalty = 0;
  params.dry_multiplier = 0;
  params.dynatemp_range = 0;
  if (!has_chain) params.chain = {F::kTemperature, F::kMirostat};
}

// Mirostat draws at its place: what comes after it finds one token.
void MirostatDraws(bool, Params& params) {
  const auto mirostat = std::ranges::find(params.chain, F::kMirostat);
  if (params.mirostat != 0 && mirostat != params.chain.end()) {
    params.chain.erase(mirostat + 1, params.chain.end());
  }
}

// Tiny temperatures are greedy, small ones raised; biases are clamped.
void AdjustVllm(bool, Params& params) {
  constexpr double kGreedyBelow = 1e-5, kLeastTemperature = 0.01;
  constexpr float kMostBias = 100;
  params.temperature =
      params.temperature < kGreedyBelow ? 0 : std::max(params.temperature, kLeastTemperature);
  for (LogitBias& bias : params.logit_bias) {
    bias.bias = std::clamp(bias.bias, -kMostBias, kMostBias);
  }
}

// clang-format off

Rules Default() { return {}; }

// llama.cpp v0.5.0: src/llama-sampler.cpp, common/sampling.cpp, llama-server's defaults.
Rules LlamaCpp() {
  return {
      .absent = {.temperature = 0.8, .top_k = 40, .top_p = 0.95, .min_p = 0.05,
                 .penalty_last_n = 64, .dry_penalty_last_n = 64,
                 .chain = Chain({F::kTopNSigma, F::kTopK, F::kTypicalP, F::kTopP, F::kMinP,
                                 F::kXtc, F::kTemperature})},
      .penalties = PenaltyOrder::kRepetitionFrequencyDry,
      .greedy = Greedy::kInChain,
      .typical_p = MassCut::kUpTo,
      .xtc = {.coin_may_equal = true},
      .no_min_keep = {F::kTopK, F::kTopNSigma, F::kMirostat},
      .adjust = MirostatAlone,
  };
}

// transformers 5.24.0: generation/logits_process.py, utils.py.
Rules Transformers() {
  return {
      .absent = {.top_k = 50,
                 .chain = Chain({F::kTemperature, F::kTopH, F::kTopK, F::kTopP, F::kMinP,
                                 F::kTypicalP, F::kEpsilonCutoff, F::kEtaCutoff})},
      .greedy = Greedy::kTemperature,
      .typical_p = MassCut::kBelowWithEqual,
      .top_k = EqualAtK::kStay,
      .no_min_keep = {F::kTopH},
  };
}

// vLLM 0.33.0: vllm/v1/sample, vllm/v1/worker/gpu/sample; top_k as its GPU kernel.
Rules Vllm() {
  return {
      .absent = {.frequency_scope = FrequencyScope::kOutput,
                 .chain = Chain({F::kTemperature, F::kMinP, F::kTopK, F::kTopP})},
      .bad_tokens = BadTokensIn::kOutput,
      .greedy = Greedy::kTemperature,
      .adjust = AdjustVllm,
  };
}

// mlxcel, 2026: src/lib/mlxcel-core/src/sampling.rs.
Rules Mlxcel() {
  return {
      .absent = {.chain = Chain({F::kTopNSigma, F::kPLess, F::kTopK, F::kTypicalP, F::kTopP,
                                 F::kMinP, F::kXtc, F::kTemperature})},
      .greedy = Greedy::kTemperatureOrTopKButXtc,
      .top_p = MassCut::kUpTo,
      .top_k = EqualAtK::kStay,
      .xtc = {.above_threshold = true},
      .adjust = MirostatAlone,
  };
}

// SharpInference 6a37fc0: Engine/Sampler.cs. It cuts by min_p first, and then by top_p with the
// probabilities of before: the same sets as in this order.
Rules SharpInference() {
  return {
      .absent = {.chain = Chain({F::kTemperature, F::kTopK, F::kTopP, F::kMinP})},
      .repetition = Repetition::kOncePerOccurrence,
      .greedy = Greedy::kTemperatureUnedited,
      .top_k = EqualAtK::kStayIfBiased,
  };
}

// text-generation-webui, 2025: modules/sampler_hijack.py, and transformers' own filters.
Rules TextgenWebui() {
  return {
      .absent = {.penalty_last_n = 1024, .dry_penalty_last_n = 1024,
                 .chain = Chain({F::kTemperature, F::kSmoothing, F::kTopNSigma, F::kTopK,
                                 F::kTopP, F::kTypicalP, F::kEpsilonCutoff, F::kEtaCutoff,
                                 F::kTfsZ, F::kTopA, F::kMinP, F::kMirostat, F::kXtc})},
      .penalties = PenaltyOrder::kRepetitionFrequencyDry,
      .longest_dry_match = 50,
      .greedy = Greedy::kTemperature,
      .sigma = Sigma::kWholeRowAsZero,
      .typical_p = MassCut::kBelowWithEqual,
      .top_k = EqualAtK::kStay,
      .xtc = {.protected_stop_it = true},
      .adjust = MirostatDraws,
  };
}

// clang-format on

}  // namespace

const Rules& RulesOf(Profile profile) {
  static const auto& kRules = *new std::array<Rules, 7>{
      Default(), LlamaCpp(), Transformers(), Vllm(), Mlxcel(), SharpInference(), TextgenWebui()};
  return kRules[static_cast<size_t>(profile)];
}

bool IsGreedy(const Params& params) {
  const bool is_cold = params.temperature == 0 && params.dynatemp_range == 0;
  switch (RulesOf(params.profile).greedy) {
    case Greedy::kTemperatureOrTopK:
    case Greedy::kTemperatureOrTopKButXtc:
      return is_cold || params.top_k == 1;
    case Greedy::kTemperature:
    case Greedy::kTemperatureUnedited:
      return is_cold;
    case Greedy::kInChain:
      return false;
  }
  return false;
}

}  // namespace tokendraw::sampling
