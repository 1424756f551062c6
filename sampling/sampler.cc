#include "sampling/sampler.h"

#include <array>
#include <optional>

#include "sampling/chain.h"
#include "sampling/draw.h"
#include "sampling/kernels.h"
#include "sampling/report.h"

namespace tokendraw::sampling {
namespace {

// The survivors that a draw is made from.
struct Outcome {
  Support kept;
  bool xtc_applied = false;
};

// Step 4: the argmax, which top_k 1 keeps alone and temperature 0 leaves among all others.
Outcome GreedyOutcome(const Params& params, const Support& unfiltered) {
  Outcome outcome{.kept = unfiltered};
  if (params.temperature != 0) outcome.kept.KeepFirst(1, 1);
  return outcome;
}

// Step 5.
Outcome FilteredOutcome(const Params& params, bool xtc_acts, const Support& unfiltered) {
  Outcome outcome{.kept = unfiltered};
  outcome.xtc_applied = ApplyFilters(params, xtc_acts, outcome.kept);
  return outcome;
}

}  // namespace

RowResult Sampler::Sample(const Params& params, const RowInput& row) {
  logits_.resize(row.logits.vocab_size);
  DecodeRow(row.logits, logits_);
  if (const int32_t id = FirstNotFinite(logits_); id >= 0) {
    return {.error = RowErrorCode::kNotFinite, .error_token = id};
  }
  std::optional<Support> raw;  // what log-probabilities are of, unless of the survivors
  if (params.WantsDetail() && params.logprobs != LogprobMode::kProcessed) {
    raw.emplace().Reset(logits_);
  }

  ApplyEdits(params, row, logits_);
  if (const int32_t id = FirstNotFinite(logits_); id >= 0) {
    return {.error = RowErrorCode::kNotFinite, .error_token = id};
  }
  unfiltered_.Reset(logits_);
  if (unfiltered_.empty()) return {.error = RowErrorCode::kNoCandidate};

  RowResult result;
  std::array<std::optional<Outcome>, 2> outcomes;  // by the coin: all draws share these two
  for (int32_t sample_index = 0; sample_index < row.sample_count; ++sample_index) {
    const bool greedy = params.IsGreedy();
    const bool xtc_acts = !greedy && XtcActs(params, row.key, sample_index);
    std::optional<Outcome>& outcome = outcomes[xtc_acts];
    if (!outcome) {
      outcome = greedy ? GreedyOutcome(params, unfiltered_)
                       : FilteredOutcome(params, xtc_acts, unfiltered_);
    }
    Draw draw;
    draw.token_id =
        greedy ? Argmax(unfiltered_.tokens()) : DrawToken(outcome->kept, row.key, sample_index);
    if (params.WantsDetail()) {
      draw.greedy = greedy;
      draw.xtc_applied = outcome->xtc_applied;
      ReportKept(params, unfiltered_, outcome->kept, draw);
      ReportLogprobs(params, raw ? *raw : outcome->kept, draw);
    }
    result.draws.push_back(std::move(draw));
  }
  return result;
}

const char* SimdTarget() { return "SCALAR"; }

}  // namespace tokendraw::sampling
