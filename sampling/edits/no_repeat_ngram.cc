#include "sampling/edits.h"

namespace tokendraw::sampling {

// With the newest token first, the token at i - 1 follows a repeat of the last n - 1 tokens if the
// common beginning from i on is that long. Nothing precedes the oldest token.
void BanRepeatedNgrams(int32_t no_repeat_ngram_size, const History& history, EditBuffers& buffers) {
  if (no_repeat_ngram_size == 0) return;
  const auto repeat = static_cast<size_t>(no_repeat_ngram_size) - 1;
  ReverseHistory(history, -1, buffers);
  FindRepeats(buffers);
  const std::vector<int32_t>& newest_first = buffers.newest_first;
  for (size_t i = 1; i <= newest_first.size(); ++i) {
    const size_t common = i < newest_first.size() ? buffers.common[i] : 0;
    if (common >= repeat) buffers.banned.push_back(newest_first[i - 1]);
  }
}

}  // namespace tokendraw::sampling
