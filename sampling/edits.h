// What changes logits before the filters. Float32, each operation rounded once, in the order given.
// A masked logit (-inf) stays masked. Tokens must be named in the patches. Ids are in [0, V). The
// allowed mask is applied while the row is read (FloatRow::Read), as the patches are that the edits
// leave: none brings a masked token back.
#ifndef TOKENDRAW_SAMPLING_EDITS_H_
#define TOKENDRAW_SAMPLING_EDITS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sampling/params.h"
#include "sampling/patches.h"
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
  std::vector<TokenCount> counts;
  std::vector<uint32_t> window;

  struct Match {
    int32_t token_id;
    size_t length;
  };
  std::vector<int32_t> newest_first;
  std::vector<int32_t> breakers;
  std::vector<size_t> common;
  std::vector<Match> matches;
  std::vector<float> penalties;
  std::vector<DryPenalty> dry_penalties;
};

// x += bias; -inf bans.
void ApplyLogitBias(std::span<const LogitBias> biases, Patches& row);

// Sets buffers.counts to the distinct tokens of the last `last_n` of the history (-1: all, 0:
// none), by ascending id. A history of counts has no order: for it any `last_n` but 0 is all.
void CountHistory(const History& history, int32_t last_n, EditBuffers& buffers);

// Once per distinct id: x > 0 ? x / r : x * r. Off: 1. Source: arXiv 1909.05858.
void ApplyRepetitionPenalty(float repetition_penalty, std::span<const TokenCount> counts,
                            Patches& row);

// x -= frequency * count + (count > 0 ? presence : 0), where `scope` says what is counted.
// Off: 0 and 0. Source: OpenAI.
void ApplyFrequencyAndPresencePenalty(float frequency_penalty, float presence_penalty,
                                      FrequencyScope scope, std::span<const TokenCount> counts,
                                      Patches& row);

// Sets buffers.dry_penalties, by ascending id. DRY over the last dry_penalty_last_n tokens of the
// history: the token that would extend a repeat of length n >= allowed_length loses
// multiplier * base^(n - allowed_length). The longest match of a token counts; a breaker ends a
// match and is itself never penalised; the exponent is capped so that the penalty is finite. Linear
// time. Off: multiplier 0. Source: text-generation-webui pull request 5677.
void FindDryPenalties(const Params& params, const History& history, EditBuffers& buffers);

// x -= penalty.
void ApplyDry(std::span<const DryPenalty> penalties, Patches& row);

}  // namespace tokendraw::sampling

#endif  // TOKENDRAW_SAMPLING_EDITS_H_
