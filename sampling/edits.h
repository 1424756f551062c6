// What changes logits before the filters. Float32, each operation rounded once, in the order given.
// A masked logit (-inf) stays masked. Ids are in [0, V).
#ifndef TOKENDRAW_SAMPLING_EDITS_H_
#define TOKENDRAW_SAMPLING_EDITS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sampling/params.h"
#include "sampling/types.h"

namespace tokendraw::sampling {

// x += bias.
void ApplyLogitBias(std::span<const LogitBias> biases, std::span<float> logits);

// x := -inf where the token's bit is 0. Bits past V are ignored. Layout: RowInput::allowed_mask.
void ApplyAllowedMask(std::span<const std::byte> mask, std::span<float> logits);

// The distinct tokens of the last `last_n` of the history (-1: all, 0: none), by ascending id. A
// history of counts has no order: for it any `last_n` but 0 is all.
std::vector<TokenCount> CountHistory(const History& history, int32_t last_n);

// Once per distinct id: x > 0 ? x / r : x * r. Off: 1. Source: arXiv 1909.05858.
void ApplyRepetitionPenalty(float repetition_penalty, std::span<const TokenCount> counts,
                            std::span<float> logits);

// x -= frequency * count + (count > 0 ? presence : 0), where `scope` says what is counted.
// Off: 0 and 0. Source: OpenAI.
void ApplyFrequencyAndPresencePenalty(float frequency_penalty, float presence_penalty,
                                      FrequencyScope scope, std::span<const TokenCount> counts,
                                      std::span<float> logits);

// DRY over the last dry_penalty_last_n tokens of the history: the token that would extend a repeat
// of length n >= allowed_length loses multiplier * base^(n - allowed_length). The longest match of
// a token counts; a breaker ends a match and is itself never penalised; the exponent is capped so
// that the penalty is finite. Linear time. Off: multiplier 0. Source: text-generation-webui pull
// request 5677.
void ApplyDry(const Params& params, const History& history, std::span<float> logits);

}  // namespace tokendraw::sampling

#endif  // TOKENDRAW_SAMPLING_EDITS_H_
