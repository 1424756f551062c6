// Any bytes as a row, and any parameters within their ranges: no crash, no id out of range, no
// masked id, and on every instruction set the same result, which ExplainRow explains.
#include <fuzzer/FuzzedDataProvider.h>
#include <hwy/targets.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "sampling/explain.h"
#include "sampling/sampler.h"

namespace tokendraw::sampling {
namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

bool Same(const Draw& a, const Draw& b) {
  return a.token_id == b.token_id && a.logprob == b.logprob && a.kept_count == b.kept_count &&
         a.kept_ids == b.kept_ids && a.kept_mass == b.kept_mass && a.xtc_applied == b.xtc_applied &&
         a.greedy == b.greedy && a.state.mirostat_mu == b.state.mirostat_mu &&
         a.state.adaptive_sum == b.state.adaptive_sum;
}

void RequireSame(const RowResult& a, const RowResult& b) {
  Require(a.error == b.error && a.error_token == b.error_token);
  Require(std::equal(a.draws.begin(), a.draws.end(), b.draws.begin(), b.draws.end(), Same));
}

// Values at which something might turn, or any.
double PickValue(FuzzedDataProvider& data) {
  constexpr double kTurns[] = {0.0, 0.5, 1.0, 1e-300, 1e-7, 0.999999, 2.0, 1e30};
  return data.ConsumeBool() ? data.PickValueInArray(kTurns)
                            : data.ConsumeFloatingPointInRange<double>(-1, 10);
}

std::vector<int32_t> PickIds(FuzzedDataProvider& data, int32_t vocab_size) {
  std::vector<int32_t> ids(data.ConsumeIntegralInRange<size_t>(0, 20));
  for (int32_t& id : ids) id = data.ConsumeIntegralInRange<int32_t>(0, vocab_size - 1);
  return ids;
}

std::vector<TokenSequence> PickSequences(FuzzedDataProvider& data, int32_t vocab_size) {
  std::vector<TokenSequence> sequences(data.ConsumeIntegralInRange<size_t>(0, 4));
  for (TokenSequence& sequence : sequences) {
    sequence = PickIds(data, vocab_size);
    sequence.resize(std::max<size_t>(sequence.size(), 1));
  }
  return sequences;
}

Params PickParams(FuzzedDataProvider& data, int32_t vocab_size) {
  Params params;
  for (const ParamRule& rule : ParamRules()) {
    const bool is_integer = std::holds_alternative<int32_t Params::*>(rule.field);
    if (data.ConsumeBool()) continue;
    SetField(
        rule.field,
        is_integer ? data.ConsumeIntegralInRange<int32_t>(-1, 2 * vocab_size) : PickValue(data),
        params);
  }
  params.p_less = data.ConsumeBool();
  params.p_less_norm = data.ConsumeBool();
  params.profile = static_cast<Profile>(data.ConsumeIntegralInRange<int32_t>(0, 6));
  TurnOffBrokenRules(params);
  for (size_t i = params.chain.size(); i > 1; --i) {
    std::swap(params.chain[i - 1], params.chain[data.ConsumeIntegralInRange<size_t>(0, i - 1)]);
  }
  params.chain.resize(data.ConsumeIntegralInRange<size_t>(0, params.chain.size()));
  std::vector<int32_t> biased = PickIds(data, vocab_size);
  std::sort(biased.begin(), biased.end());
  biased.erase(std::unique(biased.begin(), biased.end()), biased.end());
  for (const int32_t id : biased) {
    params.logit_bias.push_back({id, data.ConsumeFloatingPointInRange<float>(-1e38f, 1e38f)});
  }
  params.xtc_protected_ids = PickIds(data, vocab_size);
  params.dry_breaker_ids = PickIds(data, vocab_size);
  params.dry_breaker_sequences = PickSequences(data, vocab_size);
  params.bad_token_sequences = PickSequences(data, vocab_size);
  params.stop_ids = PickIds(data, vocab_size);
  if (data.ConsumeBool()) params.allowed_ids = PickIds(data, vocab_size);
  params.return_kept = true;
  params.logprobs = LogprobMode::kProcessed;
  return params;
}

void Fuzz(FuzzedDataProvider& data) {
  // Bytes of a row, repeated up to a vocabulary that may be larger than what is listed at once.
  const auto vocab_size = data.ConsumeIntegralInRange<int32_t>(1, data.ConsumeBool() ? 9000 : 600);
  RowInput input;
  input.logits.type = data.PickValueInArray({DataType::kF32, DataType::kF16, DataType::kBF16});
  input.logits.vocab_size = vocab_size;
  input.key = {data.ConsumeIntegral<uint64_t>(), data.ConsumeIntegral<uint64_t>()};
  input.sample_count = data.ConsumeIntegralInRange<int32_t>(1, 3);
  if (data.ConsumeBool()) {
    input.state.mirostat_mu = data.ConsumeFloatingPointInRange<double>(-1e300, 1e300);
    input.state.adaptive_sum = data.ConsumeFloatingPointInRange<double>(0, 1e300);
    input.state.adaptive_weight = data.ConsumeFloatingPointInRange<double>(0, 1e300);
  }
  const Params params = PickParams(data, vocab_size);
  const std::vector<int32_t> prompt = PickIds(data, vocab_size), output = PickIds(data, vocab_size);
  input.history = {.prompt_ids = prompt, .output_ids = output};
  std::vector<std::byte> mask(static_cast<size_t>((vocab_size + 31) / 32 * 4));
  const bool masked = data.ConsumeBool();
  const auto mask_step = data.ConsumeIntegral<uint8_t>();
  for (size_t i = 0; i < mask.size(); ++i) mask[i] = static_cast<std::byte>(i * mask_step | 1);
  if (masked) input.allowed_mask = mask;

  const std::vector<std::byte> seed = data.ConsumeRemainingBytes<std::byte>();
  const size_t shift = seed.size() % 4;  // any alignment
  std::vector<std::byte> bytes(static_cast<size_t>(vocab_size) * 4 + shift);
  for (size_t i = 0; i < bytes.size() && !seed.empty(); ++i) bytes[i] = seed[i % seed.size()];
  input.logits.data = bytes.data() + shift;

  static Sampler* sampler = new Sampler;
  RowResult first;
  bool is_first = true;
  for (int64_t rest = hwy::SupportedTargets(); rest != 0; rest &= rest - 1) {
    hwy::SetSupportedTargetsForTest(rest & -rest);
    RowResult result;
    sampler->Sample(params, input, result);
    hwy::SetSupportedTargetsForTest(0);
    if (is_first) first = result;
    is_first = false;
    RequireSame(result, first);
    for (const Draw& draw : result.draws) {
      Require(draw.token_id >= 0 && draw.token_id < vocab_size);
      Require(draw.kept_count == static_cast<int32_t>(draw.kept_ids.size()));
      Require(std::binary_search(draw.kept_ids.begin(), draw.kept_ids.end(), draw.token_id));
      const auto id = static_cast<size_t>(draw.token_id);
      Require(params.allowed_ids.empty() || std::ranges::count(params.allowed_ids, draw.token_id));
      Require(!masked || std::to_integer<bool>(mask[id / 8] >> (id % 8) & std::byte{1}));
    }
  }
  const int32_t last = input.sample_count - 1;
  const Explanation told = ExplainRow(params, input, last, 5);
  Require(told.error.code == first.error);
  Require(first.draws.empty() || told.token_id == first.draws.back().token_id);
}

}  // namespace
}  // namespace tokendraw::sampling

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  FuzzedDataProvider data(bytes, size);
  tokendraw::sampling::Fuzz(data);
  return 0;
}
