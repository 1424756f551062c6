// From a row, or a list, to the shorter list of the tokens that matter.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sampling/kernels/compact.cc"
//
#include "hwy/foreach_target.h"
//
#include <bit>
#include <cstring>

#include "sampling/kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tokendraw::sampling::HWY_NAMESPACE {
namespace {

// By bits of a mask of eight lanes: the lanes whose bit is 1, in order.
constexpr std::array<std::array<uint8_t, 8>, 256> MakeChosenLanes() {
  std::array<std::array<uint8_t, 8>, 256> chosen{};
  for (size_t bits = 0; bits < chosen.size(); ++bits) {
    size_t size = 0;
    for (uint8_t lane = 0; lane < 8; ++lane) {
      if (bits >> lane & 1) chosen[bits][size++] = lane;
    }
  }
  return chosen;
}
constexpr auto kChosenLanes = MakeChosenLanes();

// Whether the target lacks an instruction for it.
constexpr bool kCompressByTable = HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_SSE4 ||
                                  HWY_TARGET == HWY_SSSE3 || HWY_TARGET == HWY_NEON ||
                                  HWY_TARGET == HWY_EMU128;

// Moves the lanes of `x` and `id` whose bit is 1 to the front. (Highway's Compress copies its table
// to the stack, each time, where g++ compiles it.)
HWY_INLINE void Compress(uint64_t bits, VF32& x, hn::Vec<I32>& id) {
  const F32 d;
  const I32 di;
  if constexpr (kCompressByTable) {
    const hn::Rebind<uint8_t, U32> bytes;
    const auto lanes = hn::PromoteTo(U32(), hn::LoadU(bytes, kChosenLanes[bits].data()));
    x = hn::TableLookupLanes(x, hn::IndicesFromVec(d, lanes));
    id = hn::TableLookupLanes(id, hn::IndicesFromVec(di, lanes));
  } else {
    const auto mask = hn::LoadMaskBits(d, reinterpret_cast<const uint8_t*>(&bits));
    x = hn::Compress(x, mask);
    id = hn::Compress(id, hn::RebindMask(di, mask));
  }
}

// One bit per lane.
template <typename D>
HWY_INLINE uint64_t BitsOf(D d, hn::Mask<D> mask) {
  uint8_t bits[8] = {};
  hn::StoreMaskBits(d, mask, bits);
  uint64_t result;
  std::memcpy(&result, bits, sizeof(result));
  return result;
}

// Compresses into a register and stores that: compressing into memory is slow on some CPUs.
size_t FindBetweenImpl(const float* logits, size_t count, int32_t first_id, float low, float high,
                       int32_t* ids, float* found) {
  const F32 d;
  const I32 di;
  const size_t lanes = hn::Lanes(d);
  const auto lowest = hn::Set(d, low), highest = hn::Set(d, high);
  auto id = hn::Iota(di, first_id);
  const auto step = hn::Set(di, static_cast<int32_t>(lanes));
  size_t size = 0, i = 0;
  for (; i + lanes <= count; i += lanes) {
    VF32 x = hn::LoadU(d, logits + i);
    auto chosen_id = id;
    id = hn::Add(id, step);
    // No branch on whether there is one: in the rows where that matters it is a coin toss.
    const uint64_t inside = BitsOf(d, hn::And(hn::Ge(x, lowest), hn::Le(x, highest)));
    Compress(inside, x, chosen_id);
    hn::StoreU(x, d, found + size);
    hn::StoreU(chosen_id, di, ids + size);
    size += static_cast<size_t>(std::popcount(inside));
  }
  for (; i < count; ++i) {
    if (!(logits[i] >= low && logits[i] <= high)) continue;
    found[size] = logits[i];
    ids[size++] = first_id + static_cast<int32_t>(i);
  }
  return size;
}

size_t FindInBinImpl(const int32_t* bins, size_t count, int32_t bin, uint32_t* indices) {
  const I32 d;
  const size_t lanes = hn::Lanes(d);
  const auto wanted = hn::Set(d, bin);
  size_t size = 0, i = 0;
  for (; i + kPartials <= count; i += kPartials) {
    uint64_t found = 0;
    for (size_t lane = 0; lane < kPartials; lane += lanes) {
      found |= BitsOf(d, hn::Eq(hn::LoadU(d, bins + i + lane), wanted)) << lane;
    }
    for (; found != 0; found &= found - 1) {
      indices[size++] = static_cast<uint32_t>(i) + static_cast<uint32_t>(std::countr_zero(found));
    }
  }
  for (; i < count; ++i) {
    if (bins[i] == bin) indices[size++] = static_cast<uint32_t>(i);
  }
  return size;
}

// Stores reach no further than what has been read.
template <Limit kLimit>
size_t CompressUpTo(std::span<const double> keys, double limit, size_t first, size_t out,
                    int32_t* ids, float* logits) {
  const F32 d;
  const I32 di;
  const F64 dd;
  const size_t lanes = hn::Lanes(d), half = hn::Lanes(dd);
  const auto highest = hn::Set(dd, limit);
  size_t size = out, i = 0;
  for (; i + lanes <= keys.size(); i += lanes) {
    uint64_t kept = 0;
    for (size_t lane = 0; lane < lanes; lane += half) {
      const VF64 key = hn::LoadU(dd, &keys[i + lane]);
      const auto stays = kLimit == Limit::kAtMost ? hn::Le(key, highest) : hn::Lt(key, highest);
      kept |= BitsOf(dd, stays) << lane;
    }
    VF32 x = hn::LoadU(d, logits + first + i);
    auto id = hn::LoadU(di, ids + first + i);
    Compress(kept, x, id);
    hn::StoreU(x, d, logits + size);
    hn::StoreU(id, di, ids + size);
    size += static_cast<size_t>(std::popcount(kept));
  }
  for (; i < keys.size(); ++i) {
    if (kLimit == Limit::kAtMost ? keys[i] > limit : keys[i] >= limit) continue;
    logits[size] = logits[first + i];
    ids[size++] = ids[first + i];
  }
  return size - out;
}

size_t CompressListImpl(std::span<const double> keys, Limit kind, double limit, size_t first,
                        size_t out, int32_t* ids, float* logits) {
  return kind == Limit::kAtMost ? CompressUpTo<Limit::kAtMost>(keys, limit, first, out, ids, logits)
                                : CompressUpTo<Limit::kBelow>(keys, limit, first, out, ids, logits);
}

}  // namespace
}  // namespace tokendraw::sampling::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tokendraw::sampling {

HWY_EXPORT(FindBetweenImpl);
HWY_EXPORT(FindInBinImpl);
HWY_EXPORT(CompressListImpl);

size_t FindBetween(std::span<const float> logits, int32_t first_id, float low, float high,
                   int32_t* ids, float* found) {
  return HWY_DYNAMIC_DISPATCH(FindBetweenImpl)(logits.data(), logits.size(), first_id, low, high,
                                               ids, found);
}

size_t FindInBin(std::span<const int32_t> bins, int32_t bin, uint32_t* indices) {
  return HWY_DYNAMIC_DISPATCH(FindInBinImpl)(bins.data(), bins.size(), bin, indices);
}

size_t CompressList(std::span<const double> keys, Limit kind, double limit, size_t first,
                    size_t out, int32_t* ids, float* logits) {
  return HWY_DYNAMIC_DISPATCH(CompressListImpl)(keys, kind, limit, first, out, ids, logits);
}

}  // namespace tokendraw::sampling
#endif  // HWY_ONCE
