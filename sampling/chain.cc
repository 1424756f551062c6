#include "sampling/chain.h"

#include <algorithm>

#include "sampling/edits.h"
#include "sampling/filters.h"

namespace tokendraw::sampling {

void ApplyEdits(const Params& params, const RowInput& row, std::span<float> logits) {
  ApplyLogitBias(params.logit_bias, logits);
  if (row.allowed_mask.has_value()) ApplyAllowedMask(*row.allowed_mask, logits);
  const std::vector<TokenCount> counts = CountHistory(row.history, params.penalty_last_n);
  ApplyRepetitionPenalty(params.repetition_penalty, counts, logits);
  ApplyDry(params, row.history, logits);
  ApplyFrequencyAndPresencePenalty(params.frequency_penalty, params.presence_penalty,
                                   params.frequency_scope, counts, logits);
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
