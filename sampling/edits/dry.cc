#include <algorithm>
#include <limits>

#include "sampling/edits.h"

namespace tokendraw::sampling {
namespace {

// The window in reverse: newest token first.
std::vector<int32_t> ReversedWindow(const History& history, int32_t last_n) {
  std::vector<int32_t> tokens(history.prompt_ids.begin(), history.prompt_ids.end());
  tokens.insert(tokens.end(), history.output_ids.begin(), history.output_ids.end());
  std::reverse(tokens.begin(), tokens.end());
  if (last_n >= 0 && static_cast<size_t>(last_n) < tokens.size()) tokens.resize(last_n);
  return tokens;
}

// Z function: z[i] = length of the longest common beginning of `s` and of `s` from i on.
std::vector<size_t> CommonBeginnings(std::span<const int32_t> s) {
  std::vector<size_t> z(s.size(), 0);
  size_t left = 0, right = 0;  // the match [left, right) that reaches farthest
  for (size_t i = 1; i < s.size(); ++i) {
    if (i < right) z[i] = std::min(right - i, z[i - left]);
    while (i + z[i] < s.size() && s[z[i]] == s[i + z[i]]) ++z[i];
    if (i + z[i] > right) left = i, right = i + z[i];
  }
  return z;
}

// multiplier * base^exponent for exponent = 0 .. max_exponent, rounded to float32 once. Past the
// largest finite one the penalty grows no more.
std::vector<float> Penalties(float multiplier, float base, size_t max_exponent) {
  std::vector<float> penalties;
  penalties.reserve(max_exponent + 1);
  double penalty = multiplier;
  for (size_t exponent = 0; exponent <= max_exponent; ++exponent) {
    penalties.push_back(static_cast<float>(penalty));
    if (penalty * base <= std::numeric_limits<float>::max()) penalty *= base;
  }
  return penalties;
}

}  // namespace

// With the newest token first, a repeat of length n that token s[i - 1] would extend is a common
// beginning of s and of s from i on. No match goes past the newest breaker.
void ApplyDry(const Params& params, const History& history, std::span<float> logits) {
  if (params.dry_multiplier == 0) return;
  const std::vector<int32_t> newest_first = ReversedWindow(history, params.dry_penalty_last_n);
  std::vector<int32_t> breakers = params.dry_breaker_ids;
  std::sort(breakers.begin(), breakers.end());
  const auto is_breaker = [&](int32_t id) {
    return std::binary_search(breakers.begin(), breakers.end(), id);
  };
  const auto first_breaker = std::find_if(newest_first.begin(), newest_first.end(), is_breaker);
  const auto longest = static_cast<size_t>(first_breaker - newest_first.begin());
  const auto allowed = static_cast<size_t>(params.dry_allowed_length);
  if (longest < allowed) return;

  struct Match {
    int32_t token_id;
    size_t length;
  };
  std::vector<Match> matches;
  const std::vector<size_t> common = CommonBeginnings(newest_first);
  size_t max_length = 0;
  for (size_t i = 1; i < newest_first.size(); ++i) {
    const size_t length = std::min(common[i], longest);
    if (length < allowed || is_breaker(newest_first[i - 1])) continue;
    matches.push_back({newest_first[i - 1], length});
    max_length = std::max(max_length, length);
  }
  if (matches.empty()) return;

  // The longest match of each token comes first.
  std::sort(matches.begin(), matches.end(), [](const Match& a, const Match& b) {
    return a.token_id != b.token_id ? a.token_id < b.token_id : a.length > b.length;
  });
  const std::vector<float> penalties =
      Penalties(params.dry_multiplier, params.dry_base, max_length - allowed);
  for (size_t i = 0; i < matches.size(); ++i) {
    const Match& match = matches[i];
    if (i > 0 && matches[i - 1].token_id == match.token_id) continue;
    logits[match.token_id] -= penalties[match.length - allowed];
  }
}

}  // namespace tokendraw::sampling
