#include "sampling/chain.h"

#include <algorithm>

#include "sampling/filters.h"

namespace tokendraw::sampling {

namespace {

// Whether steps 1-3 may change a logit.
bool HasEdits(const Params& params, const RowInput& row) {
  const History& history = row.history;
  const bool has_history =
      !history.prompt_ids.empty() || !history.output_ids.empty() || !history.token_counts.empty();
  const bool has_penalties = params.repetition_penalty != 1 || params.dry_multiplier != 0 ||
                             params.frequency_penalty != 0 || params.presence_penalty != 0;
  return !params.logit_bias.empty() || row.allowed_mask.has_value() ||
         (has_history && has_penalties);
}

}  // namespace

// The mask comes with the reading, before the bias: whatever is added to -inf, it stays -inf.
int32_t ReadAndEdit(const Params& params, const RowInput& row, EditBuffers& buffers,
                    FloatRow& edited) {
  const bool has_edits = HasEdits(params, row);
  const std::byte* mask = row.allowed_mask.has_value() ? row.allowed_mask->data() : nullptr;
  if (const int32_t id = edited.Read(row.logits, mask, has_edits); id >= 0) return id;
  if (!has_edits) return -1;

  ApplyLogitBias(params.logit_bias, edited);
  CountHistory(row.history, params.penalty_last_n, buffers);
  ApplyRepetitionPenalty(params.repetition_penalty, buffers.counts, edited);
  ApplyDry(params, row.history, buffers, edited);
  ApplyFrequencyAndPresencePenalty(params.frequency_penalty, params.presence_penalty,
                                   params.frequency_scope, buffers.counts, edited);
  return edited.FinishEdits();
}

bool ApplyFilters(const Params& params, bool xtc_acts, Support& support) {
  const int32_t min_keep = std::max(params.min_keep, 1);
  bool xtc_applied = false;
  for (const Filter filter : params.chain) {
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
        if (xtc_acts) {
          xtc_applied = ApplyXtc(params.xtc_threshold, params.xtc_protected_ids, min_keep, support);
        }
        break;
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
  }
  return xtc_applied;
}

}  // namespace tokendraw::sampling
