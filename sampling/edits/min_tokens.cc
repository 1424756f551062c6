#include "sampling/edits.h"

namespace tokendraw::sampling {

void BanEarlyStops(int32_t min_tokens, std::span<const int32_t> stop_ids, const History& history,
                   std::optional<int32_t> output_count, EditBuffers& buffers) {
  if (min_tokens == 0 || stop_ids.empty()) return;
  auto count = static_cast<int64_t>(history.output_ids.size());
  for (const TokenCount& token : history.token_counts) count += token.output_count;
  if (output_count.has_value()) count = *output_count;
  if (count >= min_tokens) return;
  buffers.banned.insert(buffers.banned.end(), stop_ids.begin(), stop_ids.end());
}

}  // namespace tokendraw::sampling
