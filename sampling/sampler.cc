#include "sampling/sampler.h"

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "sampling/candidates.h"
#include "sampling/chain.h"
#include "sampling/draw.h"
#include "sampling/kernels.h"
#include "sampling/profile.h"
#include "sampling/report.h"
#include "sampling/row.h"
#include "sampling/state.h"
#include "sampling/support.h"

namespace tokendraw::sampling {
namespace {

// The survivors that a draw is made from.
struct Outcome {
  bool made = false;
  Support kept;
  bool adapts = false;
  Support adapted;  // if so, `kept` as adaptive-p draws from them
  bool xtc_applied = false;
  int32_t argmax = -1;  // the token, if greedy
  Report report;

  Support& drawn_from() { return adapts ? adapted : kept; }
};

// Step 4: the argmax, which top_k 1 keeps alone and temperature 0 leaves among all others. These
// only details tell; without, an open list need not know them.
void ApplyGreedy(const Params& params, Outcome& outcome) {
  const bool detail = params.WantsDetail();
  if (detail ? params.temperature != 0 : outcome.kept.is_open()) outcome.kept.KeepFirst(1, 1);
  outcome.argmax = outcome.kept.Argmax();
}

bool HasXtc(const Params& params) {
  return std::ranges::find(params.chain, Filter::kXtc) != params.chain.end();
}

// Of a survivor, under their softmax.
double ProbabilityOf(int32_t token_id, Support& survivors) {
  return Exp(survivors.Value(*survivors.Find(token_id)) - survivors.Max()) / survivors.SumExp();
}

bool WantsRaw(const Params& params) {
  return params.WantsDetail() && params.logprobs != LogprobMode::kProcessed;
}

}  // namespace

struct Sampler::Buffers {
  FloatRow row;
  Candidates candidates;
  bool has_candidates = false;  // the row is in `candidates`, not in `row`
  std::vector<float> whole;     // a row that candidates tell wholly
  EditBuffers edits;
  Support unfiltered;  // for reports: the survivors before step 5
  FloatRow raw_row;    // the row as it came, if log-probabilities are of that
  Support raw;
  std::array<Outcome, 2> outcomes;  // by the XTC coin: all draws share these two

  // Steps 1-3, and `raw`.
  RowError Read(const Params& params, const RowInput& input);
  RowError ReadWhole(const Params& params, const RowInput& input);

  void Start(Support& support) const {
    has_candidates ? support.Reset(candidates) : support.Reset(row);
  }
};

RowError Sampler::Buffers::Read(const Params& params, const RowInput& input) {
  has_candidates = false;
  if (!input.candidates.has_value()) return ReadWhole(params, input);
  const RowError error = candidates.Read(*input.candidates, input.logits.vocab_size);
  if (error.code != RowErrorCode::kNone) return error;
  const auto mask = AllowedMask(params, input, edits);
  const bool is_complete_if_masked =
      mask.has_value() && !WantsRaw(params) && candidates.IsCompleteWith(*mask);
  if (candidates.IsComplete() || is_complete_if_masked) {
    candidates.CopyTo(whole);
    RowInput copy = input;
    copy.logits.data = whole.data();
    copy.logits.type = DataType::kF32;
    return ReadWhole(params, copy);
  }
  has_candidates = true;
  if (WantsRaw(params)) raw.Reset(candidates);
  return EditCandidates(params, input, edits, candidates);
}

RowError Sampler::Buffers::ReadWhole(const Params& params, const RowInput& input) {
  const int32_t token = ReadAndEdit(params, input, edits, row);
  if (token >= 0) return {.code = RowErrorCode::kNotFinite, .token = token};
  if (row.max() == -std::numeric_limits<float>::infinity()) {
    return {.code = RowErrorCode::kNoCandidate};
  }
  if (WantsRaw(params)) {
    raw_row.Read(input.logits, nullptr, {}, {SumRequest::Kind::kExp, 1});
    raw.Reset(raw_row);
  }
  return {};
}

Sampler::Sampler() : buffers_(std::make_unique<Buffers>()) {}
Sampler::~Sampler() = default;

void Sampler::Sample(const Params& params, const RowInput& row, RowResult& result) {
  Buffers& buffers = *buffers_;
  const auto fail = [&](const RowError& error) {
    result.error = error.code;
    result.error_token = error.token;
    result.error_field = error.field;
    result.draws.clear();
  };
  const RowError error = buffers.Read(params, row);
  if (error.code != RowErrorCode::kNone) return fail(error);

  result.error = RowErrorCode::kNone;
  result.error_token = -1;
  result.error_field = nullptr;
  const bool greedy = IsGreedy(params);
  const bool is_constrained = row.allowed_mask.has_value() || !params.allowed_ids.empty();
  const bool greedy_but_xtc =
      RulesOf(params.profile).greedy == Greedy::kTemperatureOrTopKButXtc && HasXtc(params);
  const bool may_xtc =
      (!greedy || greedy_but_xtc) && !(is_constrained && params.xtc_skip_constrained);
  const bool detail = params.WantsDetail();
  if (detail) buffers.Start(buffers.unfiltered);
  const auto distribution_of = [&](Outcome& outcome) -> Support& {
    return WantsRaw(params) ? buffers.raw : outcome.drawn_from();
  };
  for (Outcome& outcome : buffers.outcomes) outcome.made = false;
  result.draws.resize(static_cast<size_t>(row.sample_count));
  for (int32_t sample_index = 0; sample_index < row.sample_count; ++sample_index) {
    const bool xtc_acts = may_xtc && XtcActs(params, row.key, sample_index);
    Outcome& outcome = buffers.outcomes[xtc_acts];
    if (!outcome.made) {
      outcome.made = true;
      buffers.Start(outcome.kept);
      outcome.xtc_applied = false;
      if (greedy) {
        if (xtc_acts) outcome.xtc_applied = ApplyXtcAlone(params, outcome.kept);
        ApplyGreedy(params, outcome);
      } else {
        outcome.xtc_applied = ApplyFilters(params, row, xtc_acts, outcome.kept);
      }
      bool can_tell = !outcome.kept.is_open() && !outcome.kept.undecided();
      outcome.adapts = can_tell && !greedy && Adapts(params);
      if (outcome.adapts) {
        outcome.adapted.CopyFrom(outcome.kept);
        Adapt(params, row, outcome.adapted);
      }
      if (detail && can_tell) {
        can_tell =
            outcome.report.Make(params, buffers.unfiltered, outcome.kept, distribution_of(outcome));
      }
      if (!can_tell) return fail({.code = RowErrorCode::kNeedFullRow});
    }
    Draw& draw = result.draws[static_cast<size_t>(sample_index)];
    if (!detail) draw = {};  // an earlier row may have asked for more
    draw.token_id =
        greedy ? outcome.argmax : DrawToken(outcome.drawn_from(), row.key, sample_index);
    if (detail) {
      outcome.report.Fill(distribution_of(outcome), draw);
      draw.xtc_applied = outcome.xtc_applied;
    }
    draw.greedy = greedy;
    if (!params.HasState()) continue;
    draw.state = greedy ? row.state
                        : StateAfter(params, row.state, ProbabilityOf(draw.token_id, outcome.kept));
  }
}

RowResult Sampler::Sample(const Params& params, const RowInput& row) {
  RowResult result;
  Sample(params, row, result);
  return result;
}

}  // namespace tokendraw::sampling
