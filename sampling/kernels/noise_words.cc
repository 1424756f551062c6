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

// The keys of all rounds, each in as many copies as a vector has 64-bit lanes.
class RoundKeys {
 public:
  explicit RoundKeys(std::array<uint32_t, 2> first) {
    constexpr uint32_t kWeyl[2] = {0x9E3779B9, 0xBB67AE85};
    for (size_t round = 0; round + 1 < kRounds; ++round) {
      for (size_t i = 0; i < 2; ++i) {
        const uint32_t key = first[i] + static_cast<uint32_t>(round) * kWeyl[i];
        hn::Store(Broadcast(key), U64(), keys_[round][i].data());
      }
    }
  }

  HWY_INLINE VU64 Get(size_t round, size_t i) const {
    return hn::Load(U64(), keys_[round][i].data());
  }

 private:
  HWY_ALIGN std::array<uint64_t, kPartials / 2> keys_[kRounds - 1][2];
};

// Two vectors of blocks, a and b, hide each other's latency. One counter word per 64-bit lane; the
// upper half of a lane holds anything. Returns words 1, of even ids, and 3, of odd ones.
HWY_INLINE void Philox(VU64 block_a, VU64 block_b, const NoiseKey& key, const RoundKeys& keys,
                       VU64& even_a, VU64& odd_a, VU64& even_b, VU64& odd_b) {
  const VU64 m0 = Broadcast(0xD2511F53), m1 = Broadcast(0xCD9E8D57);
  VU64 a0 = block_a, a1 = Broadcast(key.counter[0]), a2 = Broadcast(key.counter[1]),
       a3 = Broadcast(key.counter[2]);
  VU64 b0 = block_b, b1 = a1, b2 = a2, b3 = a3;
#pragma GCC unroll 9
  for (size_t round = 0; round + 1 < kRounds; ++round) {
    const VU64 key0 = keys.Get(round, 0), key1 = keys.Get(round, 1);
    const VU64 pa0 = MulLow(a0, m0), pb0 = MulLow(b0, m0);
    const VU64 pa1 = MulLow(a2, m1), pb1 = MulLow(b2, m1);
    a0 = hn::Xor(hn::ShiftRight<32>(pa1), hn::Xor(a1, key0));
    b0 = hn::Xor(hn::ShiftRight<32>(pb1), hn::Xor(b1, key0));
    a2 = hn::Xor(hn::ShiftRight<32>(pa0), hn::Xor(a3, key1));
    b2 = hn::Xor(hn::ShiftRight<32>(pb0), hn::Xor(b3, key1));
    a1 = pa1;
    b1 = pb1;
    a3 = pa0;
    b3 = pb0;
  }
  even_a = MulLow(a2, m1);
  odd_a = MulLow(a0, m0);
  even_b = MulLow(b2, m1);
  odd_b = MulLow(b0, m0);
}

// Appends each lane of `words` that is >= threshold; lane 0 is at position `first`.
HWY_INLINE size_t AppendLoud(hn::Vec<U32> words, hn::Vec<U32> threshold, size_t first, size_t size,
                             LoudToken* found) {
  const U32 d;
  const auto loud = hn::Eq(hn::Max(words, threshold), words);
  if (HWY_LIKELY(hn::AllFalse(d, loud))) return size;
  uint8_t bits[8] = {};
  hn::StoreMaskBits(d, loud, bits);
  HWY_ALIGN std::array<uint32_t, kPartials> lanes;
  hn::Store(words, d, lanes.data());
  for (size_t i = 0; i < hn::Lanes(d); ++i) {
    if (bits[i / 8] >> (i % 8) & 1) found[size++] = {static_cast<uint32_t>(first + i), lanes[i]};
  }
  return size;
}

// The words of 2 * Lanes(U64) tokens in a row, by id.
HWY_INLINE hn::Vec<U32> Interleave(VU64 even_id, VU64 odd_id) {
  const VU64 lower = Broadcast(0xFFFFFFFF);
  return hn::BitCast(U32(), hn::Or(hn::And(even_id, lower), hn::ShiftLeft<32>(odd_id)));
}

// The word of each token in `id`.
HWY_INLINE hn::Vec<U32> Choose(VU64 id, VU64 even_id, VU64 odd_id) {
  const U64 d;
  const auto is_even = hn::Eq(hn::And(id, Broadcast(1)), hn::Zero(d));
  return hn::BitCast(U32(), hn::IfThenElse(is_even, even_id, odd_id));
}

size_t FindInRow(const NoiseKey& key, int32_t first_id, size_t count, uint32_t threshold,
                 LoudToken* found) {
  const U64 d;
  const size_t lanes = hn::Lanes(d);
  const RoundKeys keys(key.key);
  const auto limit = hn::Set(U32(), threshold);
  VU64 block = hn::Iota(d, static_cast<uint64_t>(first_id) / 2);
  const VU64 step = hn::Set(d, lanes);
  size_t size = 0;
  for (size_t i = 0; i < count; i += 4 * lanes) {
    const VU64 next = hn::Add(block, step);
    VU64 even, odd, next_even, next_odd;
    Philox(block, next, key, keys, even, odd, next_even, next_odd);
    size = AppendLoud(Interleave(even, odd), limit, i, size, found);
    size = AppendLoud(Interleave(next_even, next_odd), limit, i + 2 * lanes, size, found);
    block = hn::Add(next, step);
  }
  while (size > 0 && found[size - 1].position >= count) --size;
  return size;
}

size_t FindInList(const NoiseKey& key, const int32_t* ids, size_t count, uint32_t threshold,
                  LoudToken* found) {
  const U64 d;
  const hn::Half<U32> half;
  const size_t lanes = hn::Lanes(d);
  const RoundKeys keys(key.key);
  const auto limit = hn::Set(U32(), threshold);
  HWY_ALIGN std::array<uint32_t, kBlockSize + kListSlack> padded{};
  std::copy(ids, ids + count, padded.begin());
  size_t size = 0;
  for (size_t i = 0; i < count; i += 2 * lanes) {
    const VU64 id = hn::PromoteTo(d, hn::Load(half, &padded[i]));
    const VU64 next_id = hn::PromoteTo(d, hn::Load(half, &padded[i + lanes]));
    VU64 even, odd, next_even, next_odd;
    Philox(hn::ShiftRight<1>(id), hn::ShiftRight<1>(next_id), key, keys, even, odd, next_even,
           next_odd);
    const auto in_order =
        hn::ConcatEven(U32(), Choose(next_id, next_even, next_odd), Choose(id, even, odd));
    size = AppendLoud(in_order, limit, i, size, found);
  }
  while (size > 0 && found[size - 1].position >= count) --size;
  return size;
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
                 LoudTokens& found) {
  return HWY_DYNAMIC_DISPATCH(FindInRow)(key, first_id, count, threshold, found.data());
}

size_t FindNoise(const NoiseKey& key, std::span<const int32_t> ids, uint32_t threshold,
                 LoudTokens& found) {
  return HWY_DYNAMIC_DISPATCH(FindInList)(key, ids.data(), ids.size(), threshold, found.data());
}

const char* SimdTarget() { return HWY_DYNAMIC_DISPATCH(TargetName)(); }

}  // namespace tokendraw::sampling
#endif  // HWY_ONCE
