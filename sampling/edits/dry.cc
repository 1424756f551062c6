#include <algorithm>
#include <limits>
#include <span>

#include "sampling/edits.h"
#include "sampling/profile.h"

namespace tokendraw::sampling {
namespace {

// Breakers of one token to buffers.breakers, ascending; the others to buffers.breaker_sequences, in
// lexicographic order.
void SortBreakers(const Params& params, EditBuffers& buffers) {
  buffers.breakers.assign(params.dry_breaker_ids.begin(), params.dry_breaker_ids.end());
  buffers.breaker_sequences.clear();
  for (const TokenSequence& sequence : params.dry_breaker_sequences) {
    if (sequence.size() == 1) {
      buffers.breakers.push_back(sequence[0]);
    } else {
      buffers.breaker_sequences.emplace_back(sequence);
    }
  }
  std::ranges::sort(buffers.breakers);
  std::ranges::sort(buffers.breaker_sequences, std::ranges::lexicographical_compare);
}

bool IsBreaker(const EditBuffers& buffers, int32_t id) {
  return std::ranges::binary_search(buffers.breakers, id);
}

// Length of the longest sequence that lies in the window from its i-th newest token on, or 0. What
// begins alike is side by side, the shorter first: each token leaves a part of what is left.
size_t LongestSequenceAt(const EditBuffers& buffers, size_t i) {
  std::span<const std::span<const int32_t>> left = buffers.breaker_sequences;
  size_t longest = 0;
  for (size_t place = 0; place <= i && !left.empty(); ++place) {
    const int32_t id = buffers.newest_first[i - place];
    const auto first = std::partition_point(left.begin(), left.end(), [=](const auto& sequence) {
      return sequence.size() <= place || sequence[place] < id;
    });
    const auto last = std::partition_point(
        first, left.end(), [=](const auto& sequence) { return sequence[place] == id; });
    left = {first, last};
    if (!left.empty() && left.front().size() == place + 1) longest = place + 1;
  }
  return longest;
}

// How many tokens come after the breaker that begins last: after its last token. All, if there is
// none.
size_t CountAfterBreaker(const EditBuffers& buffers) {
  for (size_t i = 0; i < buffers.newest_first.size(); ++i) {
    const size_t longest = LongestSequenceAt(buffers, i);
    if (longest > 0) return i + 1 - longest;
    if (IsBreaker(buffers, buffers.newest_first[i])) return i;
  }
  return buffers.newest_first.size();
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
  ReverseHistory(history, params.dry_penalty_last_n, buffers);
  SortBreakers(params, buffers);
  const int32_t most = RulesOf(params.profile).longest_dry_match;
  const size_t after_breaker = CountAfterBreaker(buffers);
  const size_t longest = most > 0 ? std::min<size_t>(after_breaker, most) : after_breaker;
  const auto allowed = static_cast<size_t>(params.dry_allowed_length);
  if (longest < allowed) return;
  FindRepeats(buffers);

  using Match = EditBuffers::Match;
  std::vector<Match>& matches = buffers.matches;
  matches.clear();
  const std::vector<int32_t>& newest_first = buffers.newest_first;
  size_t max_length = 0;
  for (size_t i = 1; i < newest_first.size(); ++i) {
    const size_t length = std::min(buffers.common[i], longest);
    if (length < allowed || IsBreaker(buffers, newest_first[i - 1])) continue;
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
