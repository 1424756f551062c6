#include <algorithm>

#include "sampling/edits.h"

namespace tokendraw::sampling {

void ReverseHistory(const History& history, int32_t last_n, EditBuffers& buffers) {
  std::vector<int32_t>& tokens = buffers.newest_first;
  tokens.assign(history.prompt_ids.begin(), history.prompt_ids.end());
  tokens.insert(tokens.end(), history.output_ids.begin(), history.output_ids.end());
  std::reverse(tokens.begin(), tokens.end());
  if (last_n >= 0 && static_cast<size_t>(last_n) < tokens.size()) tokens.resize(last_n);
}

// Z function: z[i] = length of the longest common beginning of `s` and of `s` from i on.
void FindRepeats(EditBuffers& buffers) {
  const std::vector<int32_t>& s = buffers.newest_first;
  std::vector<size_t>& z = buffers.common;
  z.assign(s.size(), 0);
  size_t left = 0, right = 0;  // the match [left, right) that reaches farthest
  for (size_t i = 1; i < s.size(); ++i) {
    if (i < right) z[i] = std::min(right - i, z[i - left]);
    while (i + z[i] < s.size() && s[z[i]] == s[i + z[i]]) ++z[i];
    if (i + z[i] > right) left = i, right = i + z[i];
  }
}

}  // namespace tokendraw::sampling
