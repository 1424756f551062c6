// The numbers that go with a list of tokens.
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

void ListNegatedImpl(const float* logits, size_t count, const Tempering& tempering, double* keys) {
  const F64 d;
  const size_t lanes = hn::Lanes(d);
  const Values values(tempering);
  size_t i = 0;
  for (; i + lanes <= count; i += lanes) hn::StoreU(hn::Neg(values(logits + i)), d, keys + i);
  for (; i < count; ++i) keys[i] = -tempering(logits[i]);
}

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

// `curve` is of one vector of values.
template <typename Curve>
HWY_INLINE void Shape(const Curve& curve, const Tempering& tempering, float* logits, size_t count) {
  const HalfF32 df;
  const size_t lanes = hn::Lanes(df);
  const Values values(tempering);
  const auto shape = [&](float* at) HWY_ATTR {
    const VF64 y = hn::Max(curve(values(at)), hn::Set(F64(), kLowestFinite));
    hn::StoreU(hn::DemoteTo(df, y), df, at);
  };
  size_t i = 0;
  for (; i + lanes <= count; i += lanes) shape(logits + i);
  HWY_ALIGN std::array<float, kPartials> rest{};
  std::copy(logits + i, logits + count, rest.begin());
  shape(rest.data());
  std::copy_n(rest.begin(), count - i, logits + i);
}

void SmoothListImpl(const SmoothingCurve& curve, const Tempering& tempering, float* logits,
                    size_t count) {
  const F64 f64;
  const VF64 max = hn::Set(f64, curve.max), square = hn::Set(f64, curve.square),
             cube = hn::Set(f64, curve.cube);
  const auto shape = [&](VF64 x) HWY_ATTR {
    const VF64 d = hn::Sub(x, max);
    return hn::Mul(hn::Mul(d, d), hn::Sub(hn::Mul(cube, d), square));
  };
  Shape(shape, tempering, logits, count);
}

void AdaptListImpl(const AdaptiveCurve& curve, const Tempering& tempering, float* logits,
                   size_t count) {
  const F64 f64;
  const VF64 max = hn::Set(f64, curve.max), sum = hn::Set(f64, curve.sum),
             aim = hn::Set(f64, curve.aim), peak = hn::Set(f64, 5), sharpness = hn::Set(f64, 10),
             width = hn::Set(f64, 0.3), one = hn::Set(f64, 1);
  const auto shape = [&](VF64 x) HWY_ATTR {
    const VF64 p = hn::Div(VectorExp(hn::Sub(x, max)), sum);
    const VF64 q = hn::Div(hn::Abs(hn::Sub(p, aim)), width);
    return hn::Sub(peak, hn::Div(hn::Mul(hn::Mul(sharpness, q), q), hn::Add(one, q)));
  };
  Shape(shape, tempering, logits, count);
}

float ListMaxImpl(const float* logits, size_t count) {
  const F32 d;
  const size_t lanes = hn::Lanes(d);
  HWY_ALIGN std::array<float, kPartials> largest;
  VF32 max = hn::Set(d, kMasked);
  size_t i = 0;
  for (; i + lanes <= count; i += lanes) max = hn::Max(max, hn::LoadU(d, logits + i));
  hn::Store(max, d, largest.data());
  float result = kMasked;
  for (size_t lane = 0; lane < lanes; ++lane) result = std::max(result, largest[lane]);
  for (; i < count; ++i) result = std::max(result, logits[i]);
  return result;
}

KeyRange RangeOfImpl(const double* keys, size_t count) {
  const F64 d;
  const size_t lanes = hn::Lanes(d);
  VF64 min = hn::Set(d, keys[0]), max = min;
  size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const VF64 key = hn::LoadU(d, keys + i);
    min = hn::Min(min, key);
    max = hn::Max(max, key);
  }
  KeyRange range = {hn::GetLane(hn::MinOfLanes(d, min)), hn::GetLane(hn::MaxOfLanes(d, max))};
  for (; i < count; ++i) {
    range.min = std::min(range.min, keys[i]);
    range.max = std::max(range.max, keys[i]);
  }
  return range;
}

void FindBinsImpl(const double* keys, size_t count, double min, double bins_per_key, int32_t last,
                  int32_t* bins) {
  const F64 d;
  const hn::Rebind<int32_t, F64> di;
  const size_t lanes = hn::Lanes(d);
  const auto first_key = hn::Set(d, min), scale = hn::Set(d, bins_per_key);
  const auto last_bin = hn::Set(di, last);
  size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const VF64 bin = hn::Mul(hn::Sub(hn::LoadU(d, keys + i), first_key), scale);
    hn::StoreU(hn::Min(hn::DemoteTo(di, bin), last_bin), di, bins + i);
  }
  for (; i < count; ++i) {
    bins[i] = std::min(static_cast<int32_t>((keys[i] - min) * bins_per_key), last);
  }
}

}  // namespace
}  // namespace tokendraw::sampling::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tokendraw::sampling {

HWY_EXPORT(ListNegatedImpl);
HWY_EXPORT(ListDistancesImpl);
HWY_EXPORT(ListWeightsImpl);
HWY_EXPORT(SmoothListImpl);
HWY_EXPORT(AdaptListImpl);
HWY_EXPORT(ListMaxImpl);
HWY_EXPORT(RangeOfImpl);
HWY_EXPORT(FindBinsImpl);

void ListNegated(std::span<const float> logits, const Tempering& tempering,
                 std::span<double> keys) {
  HWY_DYNAMIC_DISPATCH(ListNegatedImpl)(logits.data(), logits.size(), tempering, keys.data());
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

void ShapeList(const SmoothingCurve& curve, const Tempering& tempering, std::span<float> logits) {
  HWY_DYNAMIC_DISPATCH(SmoothListImpl)(curve, tempering, logits.data(), logits.size());
}

void ShapeList(const AdaptiveCurve& curve, const Tempering& tempering, std::span<float> logits) {
  HWY_DYNAMIC_DISPATCH(AdaptListImpl)(curve, tempering, logits.data(), logits.size());
}

float ListMax(std::span<const float> logits) {
  return HWY_DYNAMIC_DISPATCH(ListMaxImpl)(logits.data(), logits.size());
}

KeyRange RangeOf(std::span<const double> keys) {
  return HWY_DYNAMIC_DISPATCH(RangeOfImpl)(keys.data(), keys.size());
}

void FindBins(std::span<const double> keys, double min, double bins_per_key, int32_t last,
              std::span<int32_t> bins) {
  HWY_DYNAMIC_DISPATCH(FindBinsImpl)
  (keys.data(), keys.size(), min, bins_per_key, last, bins.data());
}

}  // namespace tokendraw::sampling
#endif  // HWY_ONCE
