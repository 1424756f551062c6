// What the SIMD kernels share. Compiled once per instruction set: no vector type leaves the file
// that includes it.
#if defined(TOKENDRAW_SAMPLING_KERNELS_SIMD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TOKENDRAW_SAMPLING_KERNELS_SIMD_INL_H_
#undef TOKENDRAW_SAMPLING_KERNELS_SIMD_INL_H_
#else
#define TOKENDRAW_SAMPLING_KERNELS_SIMD_INL_H_
#endif

#include <algorithm>
#include <array>
#include <cstddef>

#include "hwy/highway.h"
//
#include "sampling/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace tokendraw::sampling::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// At most 16 lanes, so that 16 partial sums are a whole number of vectors on every target.
using F32 = hn::CappedTag<float, kPartials>;
using I32 = hn::RebindToSigned<F32>;
using U32 = hn::RebindToUnsigned<F32>;
using F64 = hn::Repartition<double, F32>;
using U64 = hn::RebindToUnsigned<F64>;
using HalfF32 = hn::Half<F32>;

using VF32 = hn::Vec<F32>;
using VF64 = hn::Vec<F64>;

HWY_INLINE VF64 LowerDoubles(VF32 v) { return hn::PromoteTo(F64(), hn::LowerHalf(HalfF32(), v)); }
HWY_INLINE VF64 UpperDoubles(VF32 v) { return hn::PromoteTo(F64(), hn::UpperHalf(HalfF32(), v)); }

// Calls visit(block, index) with kBlockSize logits for each block; the last is padded with -inf.
template <typename Visit>
HWY_INLINE void ForEachBlock(std::span<const float> logits, const Visit& visit) {
  const size_t whole = logits.size() / kBlockSize;
  for (size_t index = 0; index < whole; ++index) visit(&logits[index * kBlockSize], index);
  const std::span<const float> rest = logits.subspan(whole * kBlockSize);
  if (rest.empty()) return;
  HWY_ALIGN std::array<float, kBlockSize> padded;
  padded.fill(kMasked);
  std::copy(rest.begin(), rest.end(), padded.begin());
  visit(padded.data(), whole);
}

// 16 partial sums in memory; a kernel works on one vector of them at a time.
struct Partials {
  HWY_ALIGN std::array<double, kPartials> sums{};

  // Adds the lanes of `v` to the partials from `first` on.
  HWY_INLINE void Add(size_t first, VF32 v) {
    const F64 d;
    const size_t half = hn::Lanes(d);
    double* at = &sums[first];
    hn::Store(hn::Add(hn::Load(d, at), LowerDoubles(v)), d, at);
    hn::Store(hn::Add(hn::Load(d, at + half), UpperDoubles(v)), d, at + half);
  }
};

}  // namespace tokendraw::sampling::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TOKENDRAW_SAMPLING_KERNELS_SIMD_INL_H_
