#include <algorithm>
#include <cfloat>
#include <cmath>
#include <map>

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

// For each place in the history, the length of the repeat that ends before it.
void ApplyDry(const Params& params, const History& history, std::vector<float>& x) {
  if (params.dry_multiplier == 0) return;
  const std::vector<int32_t> h = LastOf(history, params.dry_penalty_last_n).ids;
  const auto breaks = [&](int32_t id) {
    const auto& breakers = params.dry_breaker_ids;
    return std::count(breakers.begin(), breakers.end(), id) > 0;
  };
  std::map<int32_t, size_t> longest;
  for (size_t i = 1; i < h.size(); ++i) {
    if (breaks(h[i])) continue;
    size_t n = 0;  // h[i - n .. i) equals the last n tokens
    while (n < i && h[i - 1 - n] == h[h.size() - 1 - n] && !breaks(h[i - 1 - n])) ++n;
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
  for (const auto& bias : params.logit_bias) x[bias.id] += bias.bias;

  for (size_t id = 0; row.allowed_mask && id < x.size(); ++id) {
    const auto& mask = *row.allowed_mask;
    uint32_t word = 0;  // little-endian
    for (size_t byte = 0; byte < 4; ++byte) {
      word += std::to_integer<uint32_t>(mask[id / 32 * 4 + byte]) << (8 * byte);
    }
    if ((word >> (id % 32)) % 2 == 0) x[id] = -INFINITY;
  }

  const std::map<int32_t, Count> counts = CountsOf(row.history, params.penalty_last_n);
  for (const auto& [id, count] : counts) {
    if (count.prompt + count.output == 0) continue;
    x[id] = x[id] > 0 ? x[id] / params.repetition_penalty : x[id] * params.repetition_penalty;
  }

  ApplyDry(params, row.history, x);

  for (const auto& [id, count] : counts) {
    const bool output_only = params.frequency_scope == FrequencyScope::kOutput;
    const int64_t n = count.output + (output_only ? 0 : count.prompt);
    const float product = params.frequency_penalty * static_cast<float>(n);
    const float penalty = product + (n > 0 ? params.presence_penalty : 0.0f);
    if (!std::isinf(x[id])) x[id] -= penalty;
  }
}

}  // namespace tokendraw::oracle
