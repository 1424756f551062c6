#include "sampling/report.h"

#include <algorithm>

#include "sampling/kernels.h"

namespace tokendraw::sampling {
namespace {

// A survivor's log-probability is finite, also where it does not fit a float.
constexpr double kLowest = kLowestFinite;

}  // namespace

TokenLogprob Report::Entry(const Support& distribution, int32_t id, float logit) const {
  const double logprob = (distribution.Value(logit) - distribution.Max()) - log_sum_;
  return {id, static_cast<float>(std::max(logprob, kLowest))};
}

bool Report::Make(const Params& params, Support& unfiltered, Support& kept, Support& distribution) {
  bool can_tell = true;
  log_sum_ = Log(distribution.SumExp());
  shared_.top_logprobs.clear();
  if (params.top_logprobs > 0) {
    top_.CopyFrom(distribution);
    top_.KeepFirst(params.top_logprobs, 1);
    can_tell = !top_.is_open() && !top_.undecided();
    ForEachSurvivor(top_, [&](int32_t id, float logit) {
      shared_.top_logprobs.push_back(Entry(distribution, id, logit));
    });
    std::ranges::sort(shared_.top_logprobs, [](const TokenLogprob& a, const TokenLogprob& b) {
      return a.logprob != b.logprob ? a.logprob > b.logprob : a.token_id < b.token_id;
    });
  }
  shared_.requested_logprobs.clear();
  for (const int32_t id : params.logprob_ids) {
    if (const std::optional<float> logit = distribution.Find(id)) {
      shared_.requested_logprobs.push_back(Entry(distribution, id, *logit));
    } else if (distribution.is_open()) {
      can_tell = false;
    }
  }

  shared_.kept_count = static_cast<int32_t>(kept.Size());
  shared_.kept_ids.clear();
  if (params.return_kept) {
    ForEachSurvivor(kept, [&](int32_t id, float) { shared_.kept_ids.push_back(id); });
  }
  const auto kept_sum = [&] {
    if (!kept.reshaped()) return kept.SumExpOfLogits(unfiltered.Max());
    FixedOrderSum sum;
    ForEachSurvivor(kept, [&](int32_t id, float) {
      sum.Add(Exp(unfiltered.Value(*unfiltered.Find(id)) - unfiltered.Max()));
    });
    return sum.Total();
  };
  const bool all =
      !unfiltered.is_open() && static_cast<size_t>(shared_.kept_count) == unfiltered.Size();
  shared_.kept_mass = all ? 1.0 : std::min(kept_sum() / unfiltered.SumExp(), 1.0);
  return can_tell && !unfiltered.undecided() && !distribution.undecided();
}

void Report::Fill(const Support& distribution, Draw& draw) const {
  const int32_t token_id = draw.token_id;
  draw = shared_;
  draw.token_id = token_id;
  draw.logprob = Entry(distribution, token_id, *distribution.Find(token_id)).logprob;
}

}  // namespace tokendraw::sampling
