// Random numbers by name: the same (key, purpose, sample_index, id) gives the same number, on every
// machine, in any order of asking. Philox4x32-10 (Random123; Salmon et al., SC 2011).
#ifndef TOKENDRAW_SAMPLING_NOISE_H_
#define TOKENDRAW_SAMPLING_NOISE_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "sampling/kernels.h"
#include "sampling/types.h"

namespace tokendraw::sampling {

// What a random number is for; numbers of different purposes are independent.
enum class Purpose : uint32_t {
  kToken = 0,
  kXtcCoin = 1,  // id 0
  kSpeculativeAccept = 2,
  kSpeculativeRecovery = 3,
};

// Uniform in (0, 1): the middle of one of 2^53 equal intervals. `sample_index` < kMaxSampleCount.
double Uniform(const RandomKey& key, Purpose purpose, int32_t sample_index, int32_t id);

// -ln(-ln u) of the token's uniform u: standard Gumbel noise.
double GumbelNoise(const RandomKey& key, int32_t sample_index, int32_t id);

// Finds the tokens whose uniform has an upper 32-bit word >= upper_word, of tokens
// first_id + i (first_id even) for i < count, or of ids[i]. At most kBlockSize tokens.
size_t FindLoudTokens(const RandomKey& key, int32_t sample_index, int32_t first_id, size_t count,
                      uint32_t upper_word, LoudTokens& found);
size_t FindLoudTokens(const RandomKey& key, int32_t sample_index, std::span<const int32_t> ids,
                      uint32_t upper_word, LoudTokens& found);

}  // namespace tokendraw::sampling

#endif  // TOKENDRAW_SAMPLING_NOISE_H_
