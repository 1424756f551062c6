#include <algorithm>
#include <cfloat>
#include <cmath>
#include <map>

#include "sampling/profile.h"
#include "tests/oracle/steps.h"

namespace tokendraw::oracle {
namespace {

using sampling::FrequencyScope;
using sampling::History;
using sampling::Params;
using sampling::RowInput;

// Prompt and output ids, the last `last_n` of them. `is_output` tells them apart.
struct Window {
  std::vector<int32_t> ids;
  std::vector<bool> is_output;
};

Window LastOf(const History& history, int32_t last_n) {
  Window window;
  for (int32_t id : history.prompt_ids) window.ids.push_back(id), window.is_output.push_back(false);
  for (int32_t id : history.output_ids) window.ids.push_back(id), window.is_output.push_back(true);
  while (last_n >= 0 && window.ids.size() > static_cast<size_t>(last_n)) {
    window.ids.erase(window.ids.begin());
    window.is_output.erase(window.is_output.begin());
  }
  return window;
}

struct Count {
  int64_t prompt = 0;
  int64_t output = 0;
};

std::map<int32_t, Count> CountsOf(const History& history, int32_t last_n) {
  std::map<int32_t, Count> counts;
  if (last_n == 0) return counts;
  for (const auto& count : history.token_counts) {
    counts[count.token_id] = {count.prompt_count, count.output_count};
  }
  const Window window = LastOf(history, last_n);
  for (size_t i = 0; i < window.ids.size(); ++i) {
    Count& count = counts[window.ids[i]];
    ++(window.is_output[i] ? count.output : count.prompt);
  }
  return counts;
}

bool Contains(const std::vector<int32_t>& ids, int32_t id) {
  return std::count(ids.begin(), ids.end(), id) > 0;
}

// Whether `part` lies in `whole` from `first` on.
bool IsAt(const std::vector<int32_t>& whole, size_t first, const std::vector<int32_t>& part) {
  for (size_t i = 0; i < part.size(); ++i) {
    if (first + i >= whole.size() || whole[first + i] != part[i]) return false;
  }
  return true;
}

// Every two places where the same n - 1 tokens are, of which one is the end.
void BanRepeatedNgrams(const Params& params, const History& history, std::vector<float>& x) {
  const std::vector<int32_t> h = LastOf(history, -1).ids;
  const auto n = static_cast<size_t>(params.no_repeat_ngram_size);
  if (n == 0 || h.size() < n) return;
  for (size_t first = 0; first + n <= h.size(); ++first) {
    bool same = true;
    for (size_t i = 0; i + 1 < n; ++i) same = same && h[first + i] == h[h.size() - n + 1 + i];
    if (same) x[h[first + n - 1]] = -INFINITY;
  }
}

void BanBadTokens(const Params& params, const History& history, std::vector<float>& x) {
  const std::vector<int32_t> h = LastOf(history, -1).ids;
  for (std::vector<int32_t> others : params.bad_token_sequences) {
    const int32_t last = others.back();
    others.pop_back();
    if (others.size() > h.size()) continue;
    if (IsAt(h, h.size() - others.size(), others)) x[last] = -INFINITY;
  }
}

void BanEarlyStops(const Params& params, const RowInput& row, std::vector<float>& x) {
  int64_t output = 0;
  for (const auto& count : row.history.token_counts) output += count.output_count;
  output += static_cast<int64_t>(row.history.output_ids.size());
  if (row.output_count) output = *row.output_count;
  for (const int32_t id : params.stop_ids) {
    if (output < params.min_tokens) x[id] = -INFINITY;
  }
}

// What the repetition penalty of a token is: less, with a slope, if only the older half of the
// window has it.
float RepetitionPenalty(const Params& params, const History& history, int32_t id) {
  const float r = params.repetition_penalty;
  if (params.repetition_penalty_slope == 1 || r <= 1) return r;
  const std::vector<int32_t> window = LastOf(history, params.penalty_last_n).ids;
  bool in_older = false, in_newer = false;
  for (size_t i = 0; i < window.size(); ++i) {
    if (window[i] == id) (i < window.size() / 2 ? in_older : in_newer) = true;
  }
  if (!in_older || in_newer) return r;
  const float above = r - 1;
  const float part = above * params.repetition_penalty_slope;
  return std::min(1 + part, FLT_MAX);
}

// How many tokens lie after the last breaker: the one that begins last, and of those the longest.
size_t TokensAfterBreaker(const Params& params, const std::vector<int32_t>& h) {
  std::vector<std::vector<int32_t>> breakers = params.dry_breaker_sequences;
  for (const int32_t id : params.dry_breaker_ids) breakers.push_back({id});
  size_t begin = 0, end = 0;
  for (size_t first = 0; first < h.size(); ++first) {
    for (const auto& breaker : breakers) {
      if (!IsAt(h, first, breaker)) continue;
      end = begin == first ? std::max(end, first + breaker.size()) : first + breaker.size();
      begin = first;
    }
  }
  return h.size() - end;
}

// For each place in the history, the length of the repeat that ends before it.
void ApplyDry(const Params& params, const History& history, std::vector<float>& x) {
  if (params.dry_multiplier == 0) return;
  const std::vector<int32_t> h = LastOf(history, params.dry_penalty_last_n).ids;
  size_t limit = TokensAfterBreaker(params, h);
  const int32_t most = sampling::RulesOf(params.profile).longest_dry_match;
  if (most > 0) limit = std::min(limit, static_cast<size_t>(most));
  const auto is_breaker = [&](int32_t id) {
    const auto& sequences = params.dry_breaker_sequences;
    return Contains(params.dry_breaker_ids, id) ||
           std::count(sequences.begin(), sequences.end(), std::vector<int32_t>{id}) > 0;
  };
  std::map<int32_t, size_t> longest;
  for (size_t i = 1; i < h.size(); ++i) {
    if (is_breaker(h[i])) continue;
    size_t n = 0;  // h[i - n .. i) equals the last n tokens
    while (n < i && n < limit && h[i - 1 - n] == h[h.size() - 1 - n]) ++n;
    longest[h[i]] = std::max(longest[h[i]], n);
  }
  for (const auto& [id, length] : longest) {
    const auto allowed = static_cast<size_t>(params.dry_allowed_length);
    if (length < allowed) continue;
    double exponent = static_cast<double>(length - allowed);
    while (params.dry_multiplier * std::pow(double{params.dry_base}, exponent) > FLT_MAX) {
      exponent -= 1;
    }
    x[id] -=
        static_cast<float>(params.dry_multiplier * std::pow(double{params.dry_base}, exponent));
  }
}

}  // namespace

void Edit(const Params& params, const RowInput& row, std::vector<float>& x) {
  const sampling::Rules& rules = sampling::RulesOf(params.profile);
  const bool unedited =
      rules.greedy == sampling::Greedy::kTemperatureUnedited && sampling::IsGreedy(params);
  for (const auto& bias : params.logit_bias) x[bias.id] += unedited ? 0 : bias.bias;

  for (size_t id = 0; row.allowed_mask && id < x.size(); ++id) {
    const auto& mask = *row.allowed_mask;
    uint32_t word = 0;  // little-endian
    for (size_t byte = 0; byte < 4; ++byte) {
      word += std::to_integer<uint32_t>(mask[id / 32 * 4 + byte]) << (8 * byte);
    }
    if ((word >> (id % 32)) % 2 == 0) x[id] = -INFINITY;
  }
  for (size_t id = 0; !params.allowed_ids.empty() && id < x.size(); ++id) {
    if (!Contains(params.allowed_ids, static_cast<int32_t>(id))) x[id] = -INFINITY;
  }
  BanRepeatedNgrams(params, row.history, x);
  History seen = row.history;
  if (rules.bad_tokens == sampling::BadTokensIn::kOutput) seen.prompt_ids = {};
  BanBadTokens(params, seen, x);
  BanEarlyStops(params, row, x);
  if (unedited) return;

  const std::map<int32_t, Count> counts = CountsOf(row.history, params.penalty_last_n);
  for (const auto& [id, count] : counts) {
    if (count.prompt + count.output == 0) continue;
    double r = RepetitionPenalty(params, row.history, id);
    if (rules.repetition == sampling::Repetition::kOncePerOccurrence) {
      r = std::pow(r, count.prompt + count.output);
    }
    x[id] = x[id] > 0 ? x[id] / static_cast<float>(r) : x[id] * static_cast<float>(r);
  }

  const bool dry_first = rules.penalties == sampling::PenaltyOrder::kRepetitionDryFrequency;
  if (dry_first) ApplyDry(params, row.history, x);
  for (const auto& [id, count] : counts) {
    const bool output_only = params.frequency_scope == FrequencyScope::kOutput;
    const int64_t n = count.output + (output_only ? 0 : count.prompt);
    const float product = params.frequency_penalty * static_cast<float>(n);
    const float penalty = product + (n > 0 ? params.presence_penalty : 0.0f);
    if (!std::isinf(x[id])) x[id] -= penalty;
  }
  if (!dry_first) ApplyDry(params, row.history, x);
}

}  // namespace tokendraw::oracle
