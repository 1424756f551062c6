#include "sampling/chain.h"

#include <algorithm>

#include "absl/functional/function_ref.h"
#include "sampling/filters.h"

namespace tokendraw::sampling {

namespace {

// The sums over the row that the first filter which looks at all of it asks for: they are made
// while the row is read.
SumRequest FirstSums(const Params& params) {
  using Kind = SumRequest::Kind;
  double temperature = 1;
  for (const Filter filter : params.chain) {
    switch (filter) {
      case Filter::kTopNSigma:
        if (params.top_n_sigma != 0) return {Kind::kStddev, 1};
        break;
      case Filter::kPLess:
        if (params.p_less) return {Kind::kSquared, params.temperature};
        break;
      case Filter::kTypicalP:
        if (params.typical_p != 1) return {Kind::kWeighted, temperature};
        break;
      case Filter::kXtc:
        if (params.xtc_probability > 0) return {Kind::kExp, temperature};
        break;
      case Filter::kTemperature:
        temperature = params.temperature;
        break;
      case Filter::kTopK:
        if (params.top_k != 0) return {};
        break;
      case Filter::kTopP:
        if (params.top_p != 1) return {Kind::kExp, temperature};
        break;
      case Filter::kMinP:
        if (params.min_p != 0) return {};
        break;
    }
  }
  return {};
}

// The counts of the history, if a penalty goes by them.
void FindCounts(const Params& params, const History& history, EditBuffers& buffers) {
  buffers.counts.clear();
  if (params.repetition_penalty == 1 && params.frequency_penalty == 0 &&
      params.presence_penalty == 0) {
    return;
  }
  CountHistory(history, params.penalty_last_n, buffers);
}

const std::byte* MaskOf(const RowInput& row) {
  return row.allowed_mask.has_value() ? row.allowed_mask->data() : nullptr;
}

// Sets buffers.patches to the tokens that edits name, with the logits that `gather` puts there, and
// edits them. They see the mask: whatever is added to -inf, it stays -inf.
void Edit(const Params& params, const RowInput& row, absl::FunctionRef<void(Patches&)> gather,
          EditBuffers& buffers) {
  FindCounts(params, row.history, buffers);
  FindDryPenalties(params, row.history, buffers);

  Patches& patches = buffers.patches;
  patches.Reset(row.logits.vocab_size);
  for (const LogitBias& bias : params.logit_bias) patches.Name(bias.id);
  for (const TokenCount& count : buffers.counts) patches.Name(count.token_id);
  for (const DryPenalty& dry : buffers.dry_penalties) patches.Name(dry.token_id);
  gather(patches);
  ApplyLogitBias(params.logit_bias, patches);
  ApplyRepetitionPenalty(params.repetition_penalty, buffers.counts, patches);
  ApplyDry(buffers.dry_penalties, patches);
  ApplyFrequencyAndPresencePenalty(params.frequency_penalty, params.presence_penalty,
                                   params.frequency_scope, buffers.counts, patches);
}

// One filter. Returns whether XTC removed tokens.
bool ApplyFilter(Filter filter, const Params& params, bool xtc_acts, Support& support) {
  const int32_t min_keep = std::max(params.min_keep, 1);
  switch (filter) {
    case Filter::kTopNSigma:
      ApplyTopNSigma(params.top_n_sigma, min_keep, support);
      break;
    case Filter::kPLess:
      if (params.p_less) {
        ApplyPLess(support.tempered() ? 1.0 : params.temperature, min_keep, support);
      }
      break;
    case Filter::kTypicalP:
      ApplyTypicalP(params.typical_p, min_keep, support);
      break;
    case Filter::kXtc:
      return xtc_acts &&
             ApplyXtc(params.xtc_threshold, params.xtc_protected_ids, min_keep, support);
    case Filter::kTemperature:
      ApplyTemperature(params.temperature, support);
      break;
    case Filter::kTopK:
      ApplyTopK(params.top_k, min_keep, support);
      break;
    case Filter::kTopP:
      ApplyTopP(params.top_p, min_keep, support);
      break;
    case Filter::kMinP:
      ApplyMinP(params.min_p, min_keep, support);
      break;
  }
  return false;
}

}  // namespace

// The mask comes with the reading.
int32_t ReadAndEdit(const Params& params, const RowInput& row, EditBuffers& buffers,
                    FloatRow& edited) {
  Edit(
      params, row, [&](Patches& patches) { patches.Gather(row.logits, MaskOf(row)); }, buffers);
  SumRequest request = params.IsGreedy() ? SumRequest() : FirstSums(params);
  if (request.kind == SumRequest::Kind::kNone && params.WantsDetail()) {
    request = {SumRequest::Kind::kExp, 1};  // for log-probabilities
  }
  return edited.Read(row.logits, MaskOf(row), buffers.patches.sorted(), request);
}

// Of a named token outside, the edits find how large it can get.
RowError EditCandidates(const Params& params, const RowInput& row, EditBuffers& buffers,
                        Candidates& edited) {
  const auto gather = [&](Patches& patches) {
    patches.Gather(edited.ids(), edited.logits(), edited.outside().floor, MaskOf(row));
  };
  Edit(params, row, gather, buffers);
  return edited.Edit(buffers.patches.sorted(), MaskOf(row));
}

bool ApplyFilters(const Params& params, bool xtc_acts, Support& support) {
  bool xtc_applied = false;
  for (const Filter filter : params.chain) {
    const auto apply = [&] { return ApplyFilter(filter, params, xtc_acts, support); };
    xtc_applied |= support.is_open() ? support.AtEachEnd(apply) : apply();
  }
  return xtc_applied;
}

}  // namespace tokendraw::sampling
