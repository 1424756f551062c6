#include <algorithm>
#include <limits>

#include "sampling/edits.h"

namespace tokendraw::sampling {
namespace {

constexpr float kLargest = std::numeric_limits<float>::max();

// The last min(n, size) elements.
std::span<const int32_t> Last(std::span<const int32_t> ids, size_t n) {
  return ids.last(std::min(n, ids.size()));
}

// r^count, at most the largest float and at least the smallest normal one. r > 0.
float Power(float r, int64_t count) {
  const double smallest = std::numeric_limits<float>::min();
  const double log_r = Log(std::max<double>(r, smallest));
  const double log_power = std::clamp(static_cast<double>(count) * log_r, -87.0, 88.0);
  return static_cast<float>(ExpOfAny(log_power));
}

}  // namespace

void CountHistory(const History& history, int32_t last_n, EditBuffers& buffers) {
  std::vector<TokenCount>& counts = buffers.counts;
  counts.clear();
  if (last_n == 0) return;
  if (!history.token_counts.empty()) {
    counts.assign(history.token_counts.begin(), history.token_counts.end());
    return;
  }
  const size_t total = history.prompt_ids.size() + history.output_ids.size();
  const size_t size = last_n < 0 ? total : std::min<size_t>(last_n, total);
  const auto output = Last(history.output_ids, size);
  const auto prompt = Last(history.prompt_ids, size - output.size());

  // The id, and in the lowest bit whether it was put out.
  std::vector<uint32_t>& window = buffers.window;
  window.clear();
  for (const int32_t id : prompt) window.push_back(static_cast<uint32_t>(id) << 1);
  for (const int32_t id : output) window.push_back(static_cast<uint32_t>(id) << 1 | 1);
  std::sort(window.begin(), window.end());
  for (const uint32_t token : window) {
    const auto id = static_cast<int32_t>(token >> 1);
    if (counts.empty() || counts.back().token_id != id) counts.push_back({.token_id = id});
    ++(token & 1 ? counts.back().output_count : counts.back().prompt_count);
  }
}

void FindNewerTokens(const History& history, int32_t last_n, EditBuffers& buffers) {
  std::vector<int32_t>& newer = buffers.newer;
  newer.clear();
  for (const TokenCount& count : history.token_counts) newer.push_back(count.token_id);
  const size_t total = history.prompt_ids.size() + history.output_ids.size();
  const size_t size = last_n < 0 ? total : std::min<size_t>(last_n, total);
  const size_t half = size - size / 2;
  const auto output = Last(history.output_ids, half);
  const auto prompt = Last(history.prompt_ids, half - output.size());
  newer.insert(newer.end(), prompt.begin(), prompt.end());
  newer.insert(newer.end(), output.begin(), output.end());
  std::sort(newer.begin(), newer.end());
}

// Once per distinct id: x > 0 ? x / r : x * r, where r > 1 is 1 + (r - 1) * slope if not `newer`,
// and r^count instead of r if it is once per occurrence.
void ApplyRepetitionPenalty(float repetition_penalty, float slope, Repetition rule,
                            std::span<const TokenCount> counts, std::span<const int32_t> newer,
                            Patches& row) {
  if (repetition_penalty == 1) return;
  const float scaled = std::min(1 + (repetition_penalty - 1) * slope, kLargest);
  const float of_older = repetition_penalty > 1 ? scaled : repetition_penalty;
  for (const TokenCount& count : counts) {
    if (count.output_count == 0 && count.prompt_count == 0) continue;
    const bool is_newer = slope == 1 || std::ranges::binary_search(newer, count.token_id);
    float r = is_newer ? repetition_penalty : of_older;
    if (rule == Repetition::kOncePerOccurrence) {
      r = Power(r, int64_t{count.output_count} + count.prompt_count);
    }
    float& x = row.logit(count.token_id);
    x = x > 0 ? x / r : x * r;
  }
}

// x -= frequency * count + (count > 0 ? presence : 0).
void ApplyFrequencyAndPresencePenalty(float frequency_penalty, float presence_penalty,
                                      FrequencyScope scope, std::span<const TokenCount> counts,
                                      Patches& row) {
  if (frequency_penalty == 0 && presence_penalty == 0) return;
  for (const TokenCount& token : counts) {
    int64_t count = token.output_count;
    if (scope == FrequencyScope::kPromptAndOutput) count += token.prompt_count;
    float& x = row.logit(token.token_id);
    // A product that overflows would turn -inf into NaN.
    if (count == 0 || x == -std::numeric_limits<float>::infinity()) continue;
    x -= frequency_penalty * static_cast<float>(count) + presence_penalty;
  }
}

}  // namespace tokendraw::sampling
