#include <algorithm>

#include "sampling/edits.h"

namespace tokendraw::sampling {
namespace {

bool EndsWith(std::span<const int32_t> ids, std::span<const int32_t> end) {
  return end.size() <= ids.size() && std::ranges::equal(ids.last(end.size()), end);
}

// Of prompt and output, one after the other.
bool EndsWith(const History& history, std::span<const int32_t> end) {
  const size_t in_output = std::min(end.size(), history.output_ids.size());
  const size_t in_prompt = end.size() - in_output;
  return EndsWith(history.output_ids, end.last(in_output)) &&
         EndsWith(history.prompt_ids, end.first(in_prompt));
}

}  // namespace

void BanBadTokens(std::span<const TokenSequence> bad_token_sequences, const History& history,
                  EditBuffers& buffers) {
  for (const std::span<const int32_t> sequence : bad_token_sequences) {
    const size_t others = sequence.size() - 1;
    if (EndsWith(history, sequence.first(others))) buffers.banned.push_back(sequence[others]);
  }
}

}  // namespace tokendraw::sampling
