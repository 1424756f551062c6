#include "sampling/sampler.h"

#include <array>
#include <limits>
#include <vector>

#include "sampling/candidates.h"
#include "sampling/chain.h"
#include "sampling/draw.h"
#include "sampling/outcome.h"
#include "sampling/report.h"
#include "sampling/row.h"
#include "sampling/support.h"

namespace tokendraw::sampling {
namespace {

// How the XTC coin falls.
struct Coin {
  bool made = false;
  Outcome outcome;
  Report report;
};

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
  std::array<Coin, 2> coins;  // by outcome: all draws share these two

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
  result.xtc_armed = result.xtc_applied = 0;
  const bool may_xtc = MayXtc(params, row);
  const bool detail = params.WantsDetail();
  if (detail) buffers.Start(buffers.unfiltered);
  const auto distribution_of = [&](Outcome& outcome) -> Support& {
    return WantsRaw(params) ? buffers.raw : outcome.drawn_from();
  };
  for (Coin& coin : buffers.coins) coin.made = false;
  result.draws.resize(static_cast<size_t>(row.sample_count));
  for (int32_t sample_index = 0; sample_index < row.sample_count; ++sample_index) {
    const bool xtc_acts = may_xtc && XtcActs(params, row.key, sample_index);
    auto& [made, outcome, report] = buffers.coins[xtc_acts];
    if (!made) {
      made = true;
      bool can_tell =
          outcome.Make(params, row, xtc_acts, [&](Support& support) { buffers.Start(support); });
      if (detail && can_tell) {
        can_tell =
            report.Make(params, buffers.unfiltered, outcome.kept(), distribution_of(outcome));
      }
      if (!can_tell) return fail({.code = RowErrorCode::kNeedFullRow});
    }
    result.xtc_armed += xtc_acts;
    result.xtc_applied += outcome.xtc_applied();
    if (sample_index == 0) {
      const bool counted = outcome.kept().is_list();
      result.kept_count = outcome.greedy() ? 1
                          : counted        ? static_cast<int32_t>(outcome.kept().Size())
                                           : row.logits.vocab_size;
    }
    Draw& draw = result.draws[static_cast<size_t>(sample_index)];
    if (!detail) draw = {};  // an earlier row may have asked for more
    draw.token_id = outcome.Token(row.key, sample_index);
    if (detail) {
      report.Fill(distribution_of(outcome), draw);
      draw.xtc_applied = outcome.xtc_applied();
    }
    draw.greedy = outcome.greedy();
    if (params.HasState()) draw.state = outcome.StateAfter(params, row.state, draw.token_id);
  }
}

RowResult Sampler::Sample(const Params& params, const RowInput& row) {
  RowResult result;
  Sample(params, row, result);
  return result;
}

}  // namespace tokendraw::sampling
