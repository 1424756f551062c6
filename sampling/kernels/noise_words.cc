// Philox4x32-10 for many token ids at once. Only the upper word of each token's noise is looked at;
// noise.cc, with Random123, stays the definition.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sampling/kernels/noise_words.cc"
//
#include "hwy/foreach_target.h"
//
#include "sampling/kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tokendraw::sampling::HWY_NAMESPACE {
namespace {

constexpr size_t kRounds = 10;

using VU64 = hn::Vec<U64>;

HWY_INLINE VU64 Broadcast(uint32_t word) { return hn::Set(U64(), word); }

// Product of the lower halves of the lanes.
HWY_INLINE VU64 MulLow(VU64 a, VU64 b) {
  const U32 d;
  return hn::MulEven(hn::BitCast(d, a), hn::BitCast(d, b));
}

// One counter word per 64-bit lane; the upper half of a lane holds anything.
struct Counter {
  VU64 word[4];
};

struct RoundKeys {
  uint32_t key[kRounds][2];

  explicit RoundKeys(std::array<uint32_t, 2> first) {
    constexpr uint32_t kWeyl[2] = {0x9E3779B9, 0xBB67AE85};
    for (size_t round = 0; round < kRounds; ++round) {
      for (size_t i = 0; i < 2; ++i) {
        key[round][i] = first[i] + static_cast<uint32_t>(round) * kWeyl[i];
      }
    }
  }
};

// Words 1 and 3 of the block, each in the lower half of a lane.
struct UpperWords {
  VU64 even_id, odd_id;
};

HWY_INLINE UpperWords Philox(VU64 block, const NoiseKey& key, const RoundKeys& keys) {
  const VU64 m0 = Broadcast(0xD2511F53), m1 = Broadcast(0xCD9E8D57);
  VU64 c0 = block, c1 = Broadcast(key.counter[0]), c2 = Broadcast(key.counter[1]),
       c3 = Broadcast(key.counter[2]);
  for (size_t round = 0; round + 1 < kRounds; ++round) {
    const VU64 p0 = MulLow(c0, m0), p1 = MulLow(c2, m1);
    c0 = hn::Xor(hn::ShiftRight<32>(p1), hn::Xor(c1, Broadcast(keys.key[round][0])));
    c2 = hn::Xor(hn::ShiftRight<32>(p0), hn::Xor(c3, Broadcast(keys.key[round][1])));
    c1 = p1;
    c3 = p0;
  }
  return {MulLow(c2, m1), MulLow(c0, m0)};
}

// Appends first + i for each lane i of `words` that is >= threshold.
HWY_INLINE size_t AppendLoud(hn::Vec<U32> words, hn::Vec<U32> threshold, size_t first, size_t found,
                             uint16_t* positions) {
  const U32 d;
  const auto loud = hn::Eq(hn::Max(words, threshold), words);
  if (HWY_LIKELY(hn::AllFalse(d, loud))) return found;
  uint8_t bytes[8] = {};
  hn::StoreMaskBits(d, loud, bytes);
  for (size_t i = 0; i < hn::Lanes(d); ++i) {
    if (bytes[i / 8] >> (i % 8) & 1) positions[found++] = static_cast<uint16_t>(first + i);
  }
  return found;
}

// The words of 2 * Lanes(U64) tokens in a row, by id.
HWY_INLINE hn::Vec<U32> Interleave(const UpperWords& words) {
  const VU64 lower = Broadcast(0xFFFFFFFF);
  return hn::BitCast(U32(), hn::Or(hn::And(words.even_id, lower), hn::ShiftLeft<32>(words.odd_id)));
}

size_t FindInRow(const NoiseKey& key, int32_t first_id, size_t count, uint32_t threshold,
                 uint16_t* positions) {
  const U64 d;
  const size_t lanes = hn::Lanes(d);
  const RoundKeys keys(key.key);
  const auto limit = hn::Set(U32(), threshold);
  VU64 block = hn::Iota(d, static_cast<uint64_t>(first_id) / 2);
  const VU64 step = hn::Set(d, lanes);
  size_t found = 0;
  for (size_t i = 0; i < count; i += 4 * lanes) {  // two vectors hide each other's latency
    const VU64 next = hn::Add(block, step);
    const UpperWords words = Philox(block, key, keys), next_words = Philox(next, key, keys);
    found = AppendLoud(Interleave(words), limit, i, found, positions);
    found = AppendLoud(Interleave(next_words), limit, i + 2 * lanes, found, positions);
    block = hn::Add(next, step);
  }
  while (found > 0 && positions[found - 1] >= count) --found;
  return found;
}

size_t FindInList(const NoiseKey& key, const int32_t* ids, size_t count, uint32_t threshold,
                  uint16_t* positions) {
  const U64 d;
  const hn::Half<U32> half;
  const size_t lanes = hn::Lanes(d);
  const RoundKeys keys(key.key);
  const auto limit = hn::Set(U32(), threshold);
  const auto words_of = [&](const uint32_t* at) HWY_ATTR {
    const VU64 id = hn::PromoteTo(d, hn::LoadU(half, at));
    const UpperWords words = Philox(hn::ShiftRight<1>(id), key, keys);
    const auto is_even = hn::Eq(hn::And(id, Broadcast(1)), hn::Zero(d));
    return hn::IfThenElse(is_even, words.even_id, words.odd_id);
  };
  HWY_ALIGN std::array<uint32_t, kBlockSize + kListSlack> padded{};
  std::copy(ids, ids + count, padded.begin());
  size_t found = 0;
  for (size_t i = 0; i < count; i += 2 * lanes) {
    const VU64 words = words_of(&padded[i]), next_words = words_of(&padded[i + lanes]);
    const auto both =
        hn::ConcatEven(U32(), hn::BitCast(U32(), next_words), hn::BitCast(U32(), words));
    found = AppendLoud(both, limit, i, found, positions);
  }
  while (found > 0 && positions[found - 1] >= count) --found;
  return found;
}

const char* TargetName() { return hwy::TargetName(HWY_TARGET); }

}  // namespace
}  // namespace tokendraw::sampling::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tokendraw::sampling {

HWY_EXPORT(FindInRow);
HWY_EXPORT(FindInList);
HWY_EXPORT(TargetName);

size_t FindNoise(const NoiseKey& key, int32_t first_id, size_t count, uint32_t threshold,
                 Positions& positions) {
  return HWY_DYNAMIC_DISPATCH(FindInRow)(key, first_id, count, threshold, positions.data());
}

size_t FindNoise(const NoiseKey& key, std::span<const int32_t> ids, uint32_t threshold,
                 Positions& positions) {
  return HWY_DYNAMIC_DISPATCH(FindInList)(key, ids.data(), ids.size(), threshold, positions.data());
}

const char* SimdTarget() { return HWY_DYNAMIC_DISPATCH(TargetName)(); }

}  // namespace tokendraw::sampling
#endif  // HWY_ONCE
