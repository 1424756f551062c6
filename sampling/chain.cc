#include "sampling/chain.h"

#include <algorithm>
#include <limits>

#include "absl/functional/function_ref.h"
#include "sampling/filters.h"
#include "sampling/profile.h"
#include "sampling/state.h"

namespace tokendraw::sampling {

namespace {

// The temperature that p_less and p_less_norm look at a row with which none has changed yet. Where
// it is 0, beside a dynatemp_range, only tokens tied with the largest count.
double PLessTemperature(const Params& params) {
  return std::max(params.temperature, std::numeric_limits<double>::min());
}

// The sums over the row that the first filter which looks at all of it asks for: they are made
// while the row is read.
SumRequest FirstSums(const Params& params) {
  using Kind = SumRequest::Kind;
  double temperature = 1;
  for (const Filter filter : params.chain) {
    if (!IsOn(filter, params)) continue;
    switch (filter) {
      case Filter::kTopNSigma:
        return {Kind::kStddev, 1};
      case Filter::kPLess:
      case Filter::kPLessNorm:
        return {Kind::kSquared, PLessTemperature(params)};
      case Filter::kTypicalP:
      case Filter::kEtaCutoff:
        return {Kind::kWeighted, temperature};
      case Filter::kXtc:
      case Filter::kTopP:
      case Filter::kTopA:
      case Filter::kEpsilonCutoff:
      case Filter::kAdaptiveP:
        return {Kind::kExp, temperature};
      case Filter::kTemperature:
        if (params.dynatemp_range != 0) return {Kind::kWeighted, 1};
        if (params.temperature == 0) return {};
        temperature = params.temperature;
        break;
      case Filter::kMirostat:
        if (params.mirostat == 2) return {Kind::kExp, temperature};
        return {};
      case Filter::kSmoothing:
      case Filter::kTopH:
      case Filter::kTopK:
      case Filter::kMinP:
      case Filter::kTfsZ:
        return {};
    }
  }
  return {};
}

// The bits of AllowedMask, or null.
const std::byte* MaskOf(const Params& params, const RowInput& row, EditBuffers& buffers) {
  const auto mask = AllowedMask(params, row, buffers);
  return mask.has_value() ? mask->data() : nullptr;
}

// The counts of the history, if a penalty goes by them.
void FindCounts(const Params& params, const History& history, EditBuffers& buffers) {
  buffers.counts.clear();
  if (params.repetition_penalty == 1 && params.frequency_penalty == 0 &&
      params.presence_penalty == 0) {
    return;
  }
  CountHistory(history, params.penalty_last_n, buffers);
  if (params.repetition_penalty_slope != 1) {
    FindNewerTokens(history, params.penalty_last_n, buffers);
  }
}

// The tokens that are banned, beside those that the mask does not allow.
void FindBans(const Params& params, const RowInput& row, EditBuffers& buffers) {
  buffers.banned.clear();
  BanRepeatedNgrams(params.no_repeat_ngram_size, row.history, buffers);
  History seen = row.history;
  if (RulesOf(params.profile).bad_tokens == BadTokensIn::kOutput) seen.prompt_ids = {};
  BanBadTokens(params.bad_token_sequences, seen, buffers);
  BanEarlyStops(params.min_tokens, params.stop_ids, row.history, row.output_count, buffers);
}

// Sets buffers.patches to the tokens that edits name, with the logits that `gather` puts there, and
// edits them. They see the mask: whatever is added to -inf, it stays -inf.
void Edit(const Params& params, const RowInput& row, absl::FunctionRef<void(Patches&)> gather,
          EditBuffers& buffers) {
  const Rules& rules = RulesOf(params.profile);
  const bool is_edited = rules.greedy != Greedy::kTemperatureUnedited || !IsGreedy(params);
  FindBans(params, row, buffers);
  FindCounts(params, row.history, buffers);
  FindDryPenalties(params, row.history, buffers);

  Patches& patches = buffers.patches;
  patches.Reset(row.logits.vocab_size);
  for (const LogitBias& bias : params.logit_bias) patches.Name(bias.id);
  for (const int32_t id : buffers.banned) patches.Name(id);
  for (const TokenCount& count : buffers.counts) patches.Name(count.token_id);
  for (const DryPenalty& dry : buffers.dry_penalties) patches.Name(dry.token_id);
  gather(patches);
  ApplyBans(buffers.banned, patches);
  if (!is_edited) return;
  ApplyLogitBias(params.logit_bias, patches);
  ApplyRepetitionPenalty(params.repetition_penalty, params.repetition_penalty_slope,
                         rules.repetition, buffers.counts, buffers.newer, patches);
  const bool dry_first = rules.penalties == PenaltyOrder::kRepetitionDryFrequency;
  if (dry_first) ApplyDry(buffers.dry_penalties, patches);
  ApplyFrequencyAndPresencePenalty(params.frequency_penalty, params.presence_penalty,
                                   params.frequency_scope, buffers.counts, patches);
  if (!dry_first) ApplyDry(buffers.dry_penalties, patches);
}

bool KeepsEqual(EqualAtK rule, const Params& params) {
  return rule == EqualAtK::kStay || (rule == EqualAtK::kStayIfBiased && !params.logit_bias.empty());
}

// One filter that is on, on survivors that are known. Returns whether XTC removed tokens.
bool ApplyFilter(Filter filter, const Params& params, const RowInput& row, bool xtc_acts,
                 Support& support) {
  const Rules& rules = RulesOf(params.profile);
  const int32_t min_keep = std::max(params.min_keep, 1);
  const double p_less_temperature = support.tempered() ? 1 : PLessTemperature(params);
  switch (filter) {
    case Filter::kTopNSigma:
      ApplyTopNSigma(params.top_n_sigma, rules.sigma, row.logits.vocab_size, min_keep, support);
      break;
    case Filter::kPLess:
      ApplyPLess(p_less_temperature, min_keep, support);
      break;
    case Filter::kPLessNorm:
      ApplyPLessNorm(p_less_temperature, min_keep, support);
      break;
    case Filter::kTypicalP:
      ApplyTypicalP(params.typical_p, rules.typical_p, min_keep, support);
      break;
    case Filter::kXtc:
      return xtc_acts &&
             ApplyXtc(params.xtc_threshold, params.xtc_protected_ids, rules.xtc, min_keep, support);
    case Filter::kTemperature:
      if (params.dynatemp_range == 0) {
        ApplyTemperature(params.temperature, support);
      } else {
        ApplyDynamicTemperature(params.temperature, params.dynatemp_range, params.dynatemp_exponent,
                                support);
      }
      break;
    case Filter::kSmoothing:
      ApplySmoothing(params.smoothing_factor, params.smoothing_curve, support);
      break;
    case Filter::kTopH:
      ApplyTopH(params.top_h, min_keep, support);
      break;
    case Filter::kTopK:
      ApplyTopK(params.top_k, KeepsEqual(rules.top_k, params), min_keep, support);
      break;
    case Filter::kTopP:
      ApplyTopP(params.top_p, rules.top_p, min_keep, support);
      break;
    case Filter::kMinP:
      ApplyMinP(params.min_p, min_keep, support);
      break;
    case Filter::kTopA:
      ApplyTopA(params.top_a, min_keep, support);
      break;
    case Filter::kTfsZ:
      ApplyTfsZ(params.tfs_z, min_keep, support);
      break;
    case Filter::kEpsilonCutoff:
      ApplyEpsilonCutoff(params.epsilon_cutoff, min_keep, support);
      break;
    case Filter::kEtaCutoff:
      ApplyEtaCutoff(params.eta_cutoff, min_keep, support);
      break;
    case Filter::kMirostat:
      if (params.mirostat == 1) {
        ApplyMirostat1(MirostatMu(params, row.state), row.logits.vocab_size, min_keep, support);
      } else {
        ApplyMirostat2(MirostatMu(params, row.state), min_keep, support);
      }
      break;
    case Filter::kAdaptiveP:  // whoever draws: the survivors stay as they are
      break;
  }
  return false;
}

// One filter, on survivors of which some may be known by their sums alone.
bool Apply(Filter filter, const Params& params, const RowInput& row, bool xtc_acts,
           Support& support) {
  const auto apply = [&] { return ApplyFilter(filter, params, row, xtc_acts, support); };
  return support.is_open() ? support.AtEachEnd(apply) : apply();
}

}  // namespace

bool IsOn(Filter filter, const Params& params) {
  switch (filter) {
    case Filter::kTopNSigma:
      return params.top_n_sigma != 0;
    case Filter::kPLess:
      return params.p_less;
    case Filter::kPLessNorm:
      return params.p_less_norm;
    case Filter::kTypicalP:
      return params.typical_p != 1;
    case Filter::kXtc:
      return params.xtc_probability > 0;
    case Filter::kTemperature:
      return params.temperature != 1 || params.dynatemp_range != 0;
    case Filter::kSmoothing:
      return params.smoothing_factor != 0;
    case Filter::kTopH:
      return params.top_h != 0;
    case Filter::kTopK:
      return params.top_k != 0;
    case Filter::kTopP:
      return params.top_p != 1;
    case Filter::kMinP:
      return params.min_p != 0;
    case Filter::kTopA:
      return params.top_a != 0;
    case Filter::kTfsZ:
      return params.tfs_z != 1;
    case Filter::kEpsilonCutoff:
      return params.epsilon_cutoff != 0;
    case Filter::kEtaCutoff:
      return params.eta_cutoff != 0;
    case Filter::kMirostat:
      return params.mirostat != 0;
    case Filter::kAdaptiveP:
      return params.adaptive_target >= 0;
  }
  return false;
}

std::optional<std::span<const std::byte>> AllowedMask(const Params& params, const RowInput& row,
                                                      EditBuffers& buffers) {
  return JoinAllowedIds(row.allowed_mask, params.allowed_ids, row.logits.vocab_size, buffers);
}

// The mask comes with the reading.
int32_t ReadAndEdit(const Params& params, const RowInput& row, EditBuffers& buffers,
                    FloatRow& edited) {
  const std::byte* const mask = MaskOf(params, row, buffers);
  Edit(
      params, row, [&](Patches& patches) { patches.Gather(row.logits, mask); }, buffers);
  SumRequest request = IsGreedy(params) ? SumRequest() : FirstSums(params);
  if (request.kind == SumRequest::Kind::kNone && params.WantsDetail()) {
    request = {SumRequest::Kind::kExp, 1};  // for log-probabilities
  }
  return edited.Read(row.logits, mask, buffers.patches.sorted(), request);
}

// Of a named token outside, the edits find how large it can get.
RowError EditCandidates(const Params& params, const RowInput& row, EditBuffers& buffers,
                        Candidates& edited) {
  const std::byte* const mask = MaskOf(params, row, buffers);
  const auto gather = [&](Patches& patches) {
    patches.Gather(edited.ids(), edited.logits(), edited.outside().floor, mask);
  };
  Edit(params, row, gather, buffers);
  return edited.Edit(buffers.patches.sorted(), mask);
}

bool Adapts(const Params& params) {
  return IsOn(Filter::kAdaptiveP, params) && !params.chain.empty() &&
         params.chain.back() == Filter::kAdaptiveP;
}

void Adapt(const Params& params, const RowInput& row, Support& support) {
  ApplyAdaptiveP(AdaptiveAim(params, row.state), support);
}

bool ApplyXtcAlone(const Params& params, Support& support) {
  return Apply(Filter::kXtc, params, {}, true, support);
}

bool ApplyFilters(const Params& params, const RowInput& row, bool xtc_acts, Support& support,
                  StageWatcher watch) {
  bool xtc_applied = false;
  for (const Filter filter : params.chain) {
    if (!IsOn(filter, params) || filter == Filter::kAdaptiveP) continue;
    xtc_applied |= Apply(filter, params, row, xtc_acts, support);
    watch(filter, support);
  }
  return xtc_applied;
}

}  // namespace tokendraw::sampling
