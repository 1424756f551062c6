#include "sampling/sampler.h"

#include <array>
#include <limits>

#include "sampling/chain.h"
#include "sampling/draw.h"
#include "sampling/report.h"
#include "sampling/row.h"
#include "sampling/support.h"

namespace tokendraw::sampling {
namespace {

// The survivors that a draw is made from.
struct Outcome {
  bool made = false;
  Support kept;
  bool xtc_applied = false;
  int32_t argmax = -1;  // the token, if greedy
  Report report;
};

// Step 4: the argmax, which top_k 1 keeps alone and temperature 0 leaves among all others.
void ApplyGreedy(const Params& params, Outcome& outcome) {
  outcome.argmax = outcome.kept.Argmax();
  if (params.temperature != 0 && params.WantsDetail()) outcome.kept.KeepFirst(1, 1);
}

}  // namespace

struct Sampler::Buffers {
  FloatRow row;
  EditBuffers edits;
  Support unfiltered;  // for reports: the survivors before step 5
  FloatRow raw_row;    // the row as it came, if log-probabilities are of that
  Support raw;
  std::array<Outcome, 2> outcomes;  // by the XTC coin: all draws share these two
};

Sampler::Sampler() : buffers_(std::make_unique<Buffers>()) {}
Sampler::~Sampler() = default;

void Sampler::Sample(const Params& params, const RowInput& row, RowResult& result) {
  Buffers& buffers = *buffers_;
  result.error = RowErrorCode::kNone;
  result.error_token = ReadAndEdit(params, row, buffers.edits, buffers.row);
  if (result.error_token >= 0) {
    result.error = RowErrorCode::kNotFinite;
  } else if (buffers.row.max() == -std::numeric_limits<float>::infinity()) {
    result.error = RowErrorCode::kNoCandidate;
  }
  if (result.error != RowErrorCode::kNone) return result.draws.clear();

  const bool greedy = params.IsGreedy();
  const bool detail = params.WantsDetail();
  const bool raw = detail && params.logprobs != LogprobMode::kProcessed;
  if (detail) buffers.unfiltered.Reset(buffers.row);
  if (raw) {
    buffers.raw_row.Read(row.logits, nullptr, {}, {SumRequest::Kind::kExp, 1});
    buffers.raw.Reset(buffers.raw_row);
  }
  for (Outcome& outcome : buffers.outcomes) outcome.made = false;
  result.draws.resize(static_cast<size_t>(row.sample_count));
  for (int32_t sample_index = 0; sample_index < row.sample_count; ++sample_index) {
    const bool xtc_acts = !greedy && XtcActs(params, row.key, sample_index);
    Outcome& outcome = buffers.outcomes[xtc_acts];
    Support& distribution = raw ? buffers.raw : outcome.kept;
    if (!outcome.made) {
      outcome.made = true;
      outcome.kept.Reset(buffers.row);
      outcome.xtc_applied = false;
      if (greedy) {
        ApplyGreedy(params, outcome);
      } else {
        outcome.xtc_applied = ApplyFilters(params, xtc_acts, outcome.kept);
      }
      if (detail) outcome.report.Make(params, buffers.unfiltered, outcome.kept, distribution);
    }
    Draw& draw = result.draws[static_cast<size_t>(sample_index)];
    if (!detail) draw = {};  // an earlier row may have asked for more
    draw.token_id = greedy ? outcome.argmax : DrawToken(outcome.kept, row.key, sample_index);
    if (detail) {
      outcome.report.Fill(distribution, draw);
      draw.xtc_applied = outcome.xtc_applied;
    }
    draw.greedy = greedy;
  }
}

RowResult Sampler::Sample(const Params& params, const RowInput& row) {
  RowResult result;
  Sample(params, row, result);
  return result;
}

}  // namespace tokendraw::sampling
