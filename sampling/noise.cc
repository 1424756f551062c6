#include "sampling/noise.h"

#include <Random123/philox.h>

#include <algorithm>

namespace tokendraw::sampling {
namespace {

// The key, and the counter without its first word, id / 2.
NoiseKey PhiloxKey(const RandomKey& key, Purpose purpose, int32_t sample_index) {
  return {{static_cast<uint32_t>(key.seed), static_cast<uint32_t>(key.seed >> 32)},
          {static_cast<uint32_t>(purpose) << 16 | static_cast<uint32_t>(sample_index),
           static_cast<uint32_t>(key.position), static_cast<uint32_t>(key.position >> 32)}};
}

}  // namespace

// Block of id / 2; an even id takes its words 0 and 1, an odd one 2 and 3, low word first.
double Uniform(const RandomKey& key, Purpose purpose, int32_t sample_index, int32_t id) {
  const NoiseKey fixed = PhiloxKey(key, purpose, sample_index);
  const r123::Philox4x32::key_type philox_key = {{fixed.key[0], fixed.key[1]}};
  const r123::Philox4x32::ctr_type counter = {
      {static_cast<uint32_t>(id) >> 1, fixed.counter[0], fixed.counter[1], fixed.counter[2]}};
  const r123::Philox4x32::ctr_type words = r123::Philox4x32()(counter, philox_key);
  const size_t low = id % 2 == 0 ? 0 : 2;
  const uint64_t bits = uint64_t{words[low + 1]} << 32 | words[low];
  // For the last interval the sum rounds to 2^53; its u is the largest double below 1.
  constexpr double kBelowOne = 1.0 - 0x1p-53;
  return std::min((static_cast<double>(bits >> 11) + 0.5) * 0x1p-53, kBelowOne);
}

double GumbelNoise(const RandomKey& key, int32_t sample_index, int32_t id) {
  return -Log(-Log(Uniform(key, Purpose::kToken, sample_index, id)));
}

size_t FindLoudTokens(const RandomKey& key, int32_t sample_index, int32_t first_id, size_t count,
                      uint32_t upper_word, LoudTokens& found) {
  return FindNoise(PhiloxKey(key, Purpose::kToken, sample_index), first_id, count, upper_word,
                   found);
}

size_t FindLoudTokens(const RandomKey& key, int32_t sample_index, std::span<const int32_t> ids,
                      uint32_t upper_word, LoudTokens& found) {
  return FindNoise(PhiloxKey(key, Purpose::kToken, sample_index), ids, upper_word, found);
}

}  // namespace tokendraw::sampling
