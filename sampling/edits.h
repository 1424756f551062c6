// What changes logits before the filters. Float32, each operation rounded once, in the order given.
// A masked logit (-inf) stays masked. Tokens must be named in the patches. Ids are in [0, V). The
// allowed mask is applied while the row is read (FloatRow::Read), as the patches are that the edits
// leave: none brings a masked token back. The history is prompt_ids followed by output_ids; one of
// counts alone has no tokens.
#ifndef TOKENDRAW_SAMPLING_EDITS_H_
#define TOKENDRAW_SAMPLING_EDITS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sampling/params.h"
#include "sampling/patches.h"
#include "sampling/rules.h"
#include "sampling/types.h"

namespace tokendraw::sampling {

// What a token loses to DRY.
struct DryPenalty {
  int32_t token_id;
  float penalty;
};

// What edits need beside the row; kept from row to row.
struct EditBuffers {
  Patches patches;
  std::vector<std::byte> allowed_mask;
  std::vector<int32_t> banned;
  std::vector<TokenCount> counts;
  std::vector<int32_t> newer;
  std::vector<uint32_t> window;

  struct Match {
    int32_t token_id;
    size_t length;
  };
  std::vector<int32_t> newest_first;
  std::vector<size_t> common;
  std::vector<int32_t> breakers;
  std::vector<std::span<const int32_t>> breaker_sequences;
  std::vector<Match> matches;
  std::vector<float> penalties;
  std::vector<DryPenalty> dry_penalties;
};

// The mask that allows what `mask` (absent: everything) and `allowed_ids` (empty: everything) both
// allow; absent if that is everything. It is in `buffers` or is `mask`. Source: vLLM.
std::optional<std::span<const std::byte>> JoinAllowedIds(
    std::optional<std::span<const std::byte>> mask, std::span<const int32_t> allowed_ids,
    int32_t vocab_size, EditBuffers& buffers);

// x += bias; -inf bans.
void ApplyLogitBias(std::span<const LogitBias> biases, Patches& row);

// Adds to buffers.banned every token that would complete an n-gram of the history: the token h_j
// where the n - 1 tokens before it are the last n - 1 of the history. Linear time. Off: 0. Source:
// transformers.
void BanRepeatedNgrams(int32_t no_repeat_ngram_size, const History& history, EditBuffers& buffers);

// Adds to buffers.banned the last token of each sequence of which the others end the history.
// Source: transformers.
void BanBadTokens(std::span<const TokenSequence> bad_token_sequences, const History& history,
                  EditBuffers& buffers);

// Adds stop_ids to buffers.banned while there are fewer than min_tokens tokens of output:
// `output_count`, if it is given, else those of the history. Off: 0. Source: vLLM.
void BanEarlyStops(int32_t min_tokens, std::span<const int32_t> stop_ids, const History& history,
                   std::optional<int32_t> output_count, EditBuffers& buffers);

// x = -inf.
void ApplyBans(std::span<const int32_t> banned, Patches& row);

// Sets buffers.counts to the distinct tokens of the last `last_n` of the history (-1: all, 0:
// none), by ascending id. A history of counts has no order: for it any `last_n` but 0 is all.
void CountHistory(const History& history, int32_t last_n, EditBuffers& buffers);

// Sets buffers.newer to the tokens of the newer half of that window, ascending: of n tokens the last
// n - n / 2, and all of a history of counts.
void FindNewerTokens(const History& history, int32_t last_n, EditBuffers& buffers);

// Once per distinct id, or per occurrence, as `rule` says: x > 0 ? x / r : x * r. Off: 1. Source:
// arXiv 1909.05858.
// Of tokens not in `newer` (ascending) r > 1 is 1 + (r - 1) * slope, at most the largest float. Off:
// slope 1. Source: KoboldCpp.
void ApplyRepetitionPenalty(float repetition_penalty, float slope, Repetition rule,
                            std::span<const TokenCount> counts, std::span<const int32_t> newer,
                            Patches& row);

// x -= frequency * count + (count > 0 ? presence : 0), where `scope` says what is counted.
// Off: 0 and 0. Source: OpenAI.
void ApplyFrequencyAndPresencePenalty(float frequency_penalty, float presence_penalty,
                                      FrequencyScope scope, std::span<const TokenCount> counts,
                                      Patches& row);

// Sets buffers.newest_first to the last `last_n` tokens of the history (-1: all), newest first, and
// buffers.common[i] to the length of the longest common beginning of them and of them from i on: so
// long is the repeat that the token at i - 1 would extend. Linear time.
void ReverseHistory(const History& history, int32_t last_n, EditBuffers& buffers);
void FindRepeats(EditBuffers& buffers);

// Sets buffers.dry_penalties, by ascending id. DRY over the last dry_penalty_last_n tokens of the
// history: the token that would extend a repeat of length n >= allowed_length loses
// multiplier * base^(n - allowed_length). The longest match of a token counts; a breaker ends a
// match, and is itself never penalised if it is a single token; the exponent is capped so that the
// penalty is finite; a profile may have all longer matches count as one length. A breaker, of one
// token or a sequence, is there where it lies in the window as a whole. Of those that begin last,
// the longest is what a match must come after. Linear time, but for the length of sequences. Off:
// multiplier 0. Source: text-generation-webui pull request 5677; the sequences: llama.cpp.
void FindDryPenalties(const Params& params, const History& history, EditBuffers& buffers);

// x -= penalty.
void ApplyDry(std::span<const DryPenalty> penalties, Patches& row);

}  // namespace tokendraw::sampling

#endif  // TOKENDRAW_SAMPLING_EDITS_H_
