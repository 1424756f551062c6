#include <algorithm>
#include <limits>

#include "sampling/edits.h"

namespace tokendraw::sampling {
namespace {

// The window in reverse: newest token first.
void ReverseWindow(const History& history, int32_t last_n, std::vector<int32_t>& tokens) {
  tokens.assign(history.prompt_ids.begin(), history.prompt_ids.end());
  tokens.insert(tokens.end(), history.output_ids.begin(), history.output_ids.end());
  std::reverse(tokens.begin(), tokens.end());
  if (last_n >= 0 && static_cast<size_t>(last_n) < tokens.size()) tokens.resize(last_n);
}

// Z function: z[i] = length of the longest common beginning of `s` and of `s` from i on.
void FindCommonBeginnings(std::span<const int32_t> s, std::vector<size_t>& z) {
  z.assign(s.size(), 0);
  size_t left = 0, right = 0;  // the match [left, right) that reaches farthest
  for (size_t i = 1; i < s.size(); ++i) {
    if (i < right) z[i] = std::min(right - i, z[i - left]);
    while (i + z[i] < s.size() && s[z[i]] == s[i + z[i]]) ++z[i];
    if (i + z[i] > right) left = i, right = i + z[i];
  }
}

// multiplier * base^exponent for exponent = 0 .. max_exponent, rounded to float32 once. Past the
// largest finite one the penalty grows no more.
void ComputePenalties(float multiplier, float base, size_t max_exponent,
                      std::vector<float>& penalties) {
  penalties.clear();
  double penalty = multiplier;
  for (size_t exponent = 0; exponent <= max_exponent; ++exponent) {
    penalties.push_back(static_cast<float>(penalty));
    if (penalty * base <= std::numeric_limits<float>::max()) penalty *= base;
  }
}

}  // namespace

// With the newest token first, a repeat of length n that token s[i - 1] would extend is a common
// beginning of s and of s from i on. No match goes past the newest breaker.
void FindDryPenalties(const Params& params, const History& history, EditBuffers& buffers) {
  buffers.dry_penalties.clear();
  if (params.dry_multiplier == 0) return;
  std::vector<int32_t>& newest_first = buffers.newest_first;
  ReverseWindow(history, params.dry_penalty_last_n, newest_first);
  buffers.breakers.assign(params.dry_breaker_ids.begin(), params.dry_breaker_ids.end());
  std::sort(buffers.breakers.begin(), buffers.breakers.end());
  const auto is_breaker = [&](int32_t id) {
    return std::binary_search(buffers.breakers.begin(), buffers.breakers.end(), id);
  };
  const auto first_breaker = std::find_if(newest_first.begin(), newest_first.end(), is_breaker);
  const auto longest = static_cast<size_t>(first_breaker - newest_first.begin());
  const auto allowed = static_cast<size_t>(params.dry_allowed_length);
  if (longest < allowed) return;

  using Match = EditBuffers::Match;
  std::vector<Match>& matches = buffers.matches;
  matches.clear();
  FindCommonBeginnings(newest_first, buffers.common);
  size_t max_length = 0;
  for (size_t i = 1; i < newest_first.size(); ++i) {
    const size_t length = std::min(buffers.common[i], longest);
    if (length < allowed || is_breaker(newest_first[i - 1])) continue;
    matches.push_back({newest_first[i - 1], length});
    max_length = std::max(max_length, length);
  }
  if (matches.empty()) return;

  // The longest match of each token comes first.
  std::sort(matches.begin(), matches.end(), [](const Match& a, const Match& b) {
    return a.token_id != b.token_id ? a.token_id < b.token_id : a.length > b.length;
  });
  ComputePenalties(params.dry_multiplier, params.dry_base, max_length - allowed, buffers.penalties);
  for (size_t i = 0; i < matches.size(); ++i) {
    const Match& match = matches[i];
    if (i > 0 && matches[i - 1].token_id == match.token_id) continue;
    buffers.dry_penalties.push_back({match.token_id, buffers.penalties[match.length - allowed]});
  }
}

// x -= penalty.
void ApplyDry(std::span<const DryPenalty> penalties, Patches& row) {
  for (const DryPenalty& dry : penalties) row.logit(dry.token_id) -= dry.penalty;
}

}  // namespace tokendraw::sampling
