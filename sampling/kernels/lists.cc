// From rows to lists of tokens, and the weights of a list.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sampling/kernels/lists.cc"
//
#include "hwy/foreach_target.h"
//
#include <cmath>

#include "sampling/kernels/exp_log.h"
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

// Moves the lanes of `x` and `id` where `mask` is true to the front. (Highway's Compress copies its
// table to the stack, each time, where g++ compiles it.)
HWY_INLINE size_t Compress(hn::Mask<F32> mask, VF32& x, hn::Vec<I32>& id) {
  const F32 d;
  const I32 di;
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_SSE4 || HWY_TARGET == HWY_SSSE3 || \
    HWY_TARGET == HWY_NEON || HWY_TARGET == HWY_EMU128
  uint8_t bits[8] = {};
  hn::StoreMaskBits(d, mask, bits);
  const hn::Rebind<uint8_t, U32> bytes;
  const auto lanes = hn::PromoteTo(U32(), hn::LoadU(bytes, kChosenLanes[bits[0]].data()));
  x = hn::TableLookupLanes(x, hn::IndicesFromVec(d, lanes));
  id = hn::TableLookupLanes(id, hn::IndicesFromVec(di, lanes));
#else
  x = hn::Compress(x, mask);
  id = hn::Compress(id, hn::RebindMask(di, mask));
#endif
  return hn::CountTrue(d, mask);
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
    const auto inside = hn::And(hn::Ge(x, lowest), hn::Le(x, highest));
    // No branch on whether there is one: in the rows where that matters it is a coin toss.
    const size_t chosen = Compress(inside, x, chosen_id);
    hn::StoreU(x, d, found + size);
    hn::StoreU(chosen_id, di, ids + size);
    size += chosen;
  }
  for (; i < count; ++i) {
    if (!(logits[i] >= low && logits[i] <= high)) continue;
    found[size] = logits[i];
    ids[size++] = first_id + static_cast<int32_t>(i);
  }
  return size;
}

// The scalar Exp, operation by operation.
HWY_INLINE VF64 VectorExp(VF64 x) {
  using namespace exp_constants;
  const F64 d;
  const U64 du;
  const auto round = hn::Set(d, kRound);
  const VF64 clamped = hn::Max(x, hn::Set(d, kUnderflow));
  const VF64 t = hn::Add(hn::Mul(clamped, hn::Set(d, kLog2E)), round);
  const VF64 n = hn::Sub(t, round);
  const VF64 r =
      hn::Sub(hn::Sub(clamped, hn::Mul(n, hn::Set(d, kLn2High))), hn::Mul(n, hn::Set(d, kLn2Low)));
  const VF64 r2 = hn::Mul(r, r);
  const VF64 r4 = hn::Mul(r2, r2);
  const auto pair = [&](size_t i) HWY_ATTR {
    return hn::Add(hn::Set(d, kTaylor[i]), hn::Mul(hn::Set(d, kTaylor[i + 1]), r));
  };
  const VF64 low = hn::Add(pair(0), hn::Mul(pair(2), r2));
  const VF64 middle = hn::Add(pair(4), hn::Mul(pair(6), r2));
  const VF64 high = hn::Add(pair(8), hn::Mul(pair(10), r2));
  const VF64 q = hn::Add(low, hn::Mul(hn::Add(middle, hn::Mul(high, r4)), r4));
  const VF64 e_r = hn::Add(hn::Set(d, 1.0), hn::Add(r, hn::Mul(r2, q)));
  const VF64 scaled =
      hn::BitCast(d, hn::Add(hn::BitCast(du, e_r), hn::ShiftLeft<52>(hn::BitCast(du, t))));
  return hn::IfThenElseZero(hn::Ge(x, hn::Set(d, kUnderflow)), scaled);
}

// tempering(at[i]) for one vector.
class Values {
 public:
  explicit Values(const Tempering& tempering) : tempering_(tempering) {}

  HWY_INLINE VF64 operator()(const float* at) const {
    const F64 d;
    const VF64 x = hn::PromoteTo(d, hn::LoadU(HalfF32(), at));
    if (tempering_.IsIdentity()) return x;
    const VF64 pivot = hn::Set(d, tempering_.pivot);
    const VF64 temperature = hn::Set(d, tempering_.temperature);
    return hn::Max(hn::Div(hn::Sub(x, pivot), temperature), hn::Set(d, Tempering::kLowest));
  }

 private:
  const Tempering tempering_;
};

void ListDistancesImpl(const float* logits, size_t count, const Tempering& tempering, double center,
                       double* keys) {
  const F64 d;
  const size_t lanes = hn::Lanes(d);
  const Values values(tempering);
  size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    hn::StoreU(hn::Abs(hn::Sub(values(logits + i), hn::Set(d, center))), d, keys + i);
  }
  for (; i < count; ++i) keys[i] = std::abs(tempering(logits[i]) - center);
}

double ListWeightsImpl(const float* logits, size_t count, double max_value,
                       const Tempering& tempering, double* weights) {
  const F64 d;
  const size_t lanes = hn::Lanes(d);
  const Values values(tempering);
  const auto weight = [&](const float* at) HWY_ATTR {
    return VectorExp(hn::Sub(values(at), hn::Set(d, max_value)));
  };
  HWY_ALIGN std::array<double, kPartials> partials{};
  size_t i = 0;
  for (; i + kPartials <= count; i += kPartials) {
    for (size_t lane = 0; lane < kPartials; lane += lanes) {
      const VF64 w = weight(logits + i + lane);
      hn::StoreU(w, d, weights + i + lane);
      hn::Store(hn::Add(hn::Load(d, &partials[lane]), w), d, &partials[lane]);
    }
  }
  HWY_ALIGN std::array<float, kPartials> rest;
  HWY_ALIGN std::array<double, kPartials> rest_weights;
  rest.fill(kMasked);
  std::copy(logits + i, logits + count, rest.begin());
  for (size_t lane = 0; lane < kPartials; lane += lanes) {
    hn::Store(weight(&rest[lane]), d, &rest_weights[lane]);
  }
  for (size_t lane = 0; i + lane < count; ++lane) {
    weights[i + lane] = rest_weights[lane];
    partials[lane] += rest_weights[lane];
  }
  return Fold(partials);
}

}  // namespace
}  // namespace tokendraw::sampling::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tokendraw::sampling {

HWY_EXPORT(FindBetweenImpl);
HWY_EXPORT(ListDistancesImpl);
HWY_EXPORT(ListWeightsImpl);

size_t FindBetween(std::span<const float> logits, int32_t first_id, float low, float high,
                   int32_t* ids, float* found) {
  return HWY_DYNAMIC_DISPATCH(FindBetweenImpl)(logits.data(), logits.size(), first_id, low, high,
                                               ids, found);
}

void ListDistances(std::span<const float> logits, const Tempering& tempering, double center,
                   std::span<double> keys) {
  HWY_DYNAMIC_DISPATCH(ListDistancesImpl)
  (logits.data(), logits.size(), tempering, center, keys.data());
}

double ListWeights(std::span<const float> logits, float max, const Tempering& tempering,
                   std::span<double> weights) {
  return HWY_DYNAMIC_DISPATCH(ListWeightsImpl)(logits.data(), logits.size(), tempering(max),
                                               tempering, weights.data());
}

}  // namespace tokendraw::sampling
#endif  // HWY_ONCE
