#include "sampling/report.h"

#include <algorithm>
#include <limits>

#include "sampling/kernels.h"

namespace tokendraw::sampling {
namespace {

// A survivor's log-probability is finite, also where it does not fit a float.
constexpr double kLowest = std::numeric_limits<float>::lowest();

// The candidate with that id, or null.
const Candidate* Find(std::span<const Candidate> tokens, int32_t id) {
  const auto found = std::lower_bound(tokens.begin(), tokens.end(), id,
                                      [](const Candidate& c, int32_t want) { return c.id < want; });
  return found != tokens.end() && found->id == id ? &*found : nullptr;
}

}  // namespace

void ReportLogprobs(const Params& params, const Support& distribution, Draw& draw) {
  const Softmax softmax = distribution.ComputeSoftmax();
  const double log_sum = Log(softmax.sum);
  const auto entry = [&](const Candidate& token) {
    const double logprob = (token.logit - softmax.max) - log_sum;
    return TokenLogprob{token.id, static_cast<float>(std::max(logprob, kLowest))};
  };

  draw.logprob = entry(*Find(distribution.tokens(), draw.token_id)).logprob;

  std::vector<Candidate> top(distribution.tokens().begin(), distribution.tokens().end());
  const auto count = std::min(static_cast<size_t>(params.top_logprobs), top.size());
  std::partial_sort(top.begin(), top.begin() + static_cast<std::ptrdiff_t>(count), top.end(),
                    [](const Candidate& a, const Candidate& b) {
                      return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
                    });
  for (size_t i = 0; i < count; ++i) draw.top_logprobs.push_back(entry(top[i]));

  for (int32_t id : params.logprob_ids) {
    const Candidate* token = Find(distribution.tokens(), id);
    if (token != nullptr) draw.requested_logprobs.push_back(entry(*token));
  }
}

void ReportKept(const Params& params, const Support& unfiltered, const Support& kept, Draw& draw) {
  const Softmax softmax = unfiltered.ComputeSoftmax();
  FixedOrderSum mass;
  const Candidate* original = unfiltered.tokens().data();
  for (const Candidate& token : kept.tokens()) {
    while (original->id != token.id) ++original;  // both ascend by id
    mass.Add(Exp(original->logit - softmax.max));
    if (params.return_kept) draw.kept_ids.push_back(token.id);
  }
  draw.kept_count = static_cast<int32_t>(kept.size());
  draw.kept_mass = std::min(mass.Total() / softmax.sum, 1.0);
}

}  // namespace tokendraw::sampling
