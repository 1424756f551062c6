// The float32 exponential of a whole row's logits, in three forms. Compiled once per instruction
// set.
#if defined(TOKENDRAW_SAMPLING_KERNELS_EXP_TERMS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TOKENDRAW_SAMPLING_KERNELS_EXP_TERMS_INL_H_
#undef TOKENDRAW_SAMPLING_KERNELS_EXP_TERMS_INL_H_
#else
#define TOKENDRAW_SAMPLING_KERNELS_EXP_TERMS_INL_H_
#endif

#include <bit>
#include <cmath>

#include "sampling/kernels/exp_log.h"
#include "sampling/kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tokendraw::sampling::HWY_NAMESPACE {

// Smaller y, -inf too, count as this: 2^18 such tokens together are below 1e-31 of the largest.
inline constexpr float kNegligible = -85.0f;

inline constexpr float kLn2F = 0x1.62e43p-1f;

// e^r for abs(r) <= 0.3466, within 4e-9 before rounding: 1 + r + r^2 q, q a minimax polynomial.
HWY_INLINE VF32 ExpNearZero(VF32 r) {
  const F32 d;
  const VF32 r2 = hn::Mul(r, r);
  const VF32 low = hn::Add(hn::Set(d, 0x1.fffffcp-2f), hn::Mul(hn::Set(d, 0x1.555492p-3f), r));
  const VF32 high =
      hn::Add(hn::Add(hn::Set(d, 0x1.5558f2p-5f), hn::Mul(hn::Set(d, 0x1.1239e4p-7f), r)),
              hn::Mul(hn::Set(d, 0x1.6a2432p-10f), r2));
  const VF32 q = hn::Add(low, hn::Mul(high, r2));
  return hn::Add(hn::Add(hn::Set(d, 1.0f), r), hn::Mul(r2, q));
}

// p * 2^n, where the lowest bits of `n` hold an integer.
HWY_INLINE VF32 Scale(VF32 p, hn::Vec<I32> n) {
  return hn::BitCast(F32(), hn::Add(hn::BitCast(I32(), p), hn::ShiftLeft<23>(n)));
}

// Terms of a sum over logits x <= max: from one vector of them come e^y / Unit(), in `exp`, and y.
// Two sets of terms differ in their units by 2 to the difference of Exponent(). Unlike a function, a
// class has its constants ready; unlike a struct, two references can be vectors of SVE.

// y = x - max, all in float32: x = n ln 2 + r, with n * kLn2High exact and x - n * kLn2High too, so
// the error of r does not grow with x. The unit is e^-max * 2^n_max.
class PlainTerms {
 public:
  // The temperature is 1.
  PlainTerms(float max, double)
      : max_(max), n_max_(static_cast<float>(std::ceil(max * exp_constants::kLog2E))) {}

  static bool Fits(float max, double) { return std::abs(max) <= 1024; }

  HWY_INLINE void operator()(VF32 x, VF32& exp, VF32& y) const {
    const F32 d;
    const VF32 lowest = hn::Set(d, max_ + kNegligible);
    const VF32 round = hn::Set(d, 0x1.8p23f - n_max_);
    const VF32 clamped = hn::Max(x, lowest);
    const VF32 t = hn::Add(hn::Mul(clamped, hn::Set(d, 0x1.715476p+0f)), round);
    const VF32 n = hn::Sub(t, round);
    const VF32 r = hn::Sub(hn::Sub(clamped, hn::Mul(n, hn::Set(d, 0x1.62ep-1f))),
                           hn::Mul(n, hn::Set(d, 0x1.0bfbe8p-15f)));
    exp = Scale(ExpNearZero(r), hn::BitCast(I32(), t));
    y = hn::Sub(clamped, hn::Set(d, max_));
  }

  int Exponent() const { return static_cast<int>(n_max_); }
  double Unit() const {
    const double n = n_max_;
    return Exp((max_ - n * exp_constants::kLn2High) - n * exp_constants::kLn2Low);
  }

 private:
  float max_;
  float n_max_;
};

// y = (x - max) / temperature, still in float32: x and log2(e) / temperature are cut into two
// halves of 12 bits, whose product is exact. The unit is e^(-max / temperature) * 2^n_max.
class TemperedTerms {
 public:
  TemperedTerms(float max, double temperature)
      : max_(max),
        per_logit_(exp_constants::kLog2E / temperature),
        n_max_(static_cast<float>(std::ceil(max * per_logit_))),
        scale_(static_cast<float>(per_logit_)),
        scale_high_(std::bit_cast<float>(std::bit_cast<uint32_t>(scale_) & kUpperHalf)),
        scale_low_(static_cast<float>(per_logit_ - scale_high_)),
        per_temperature_(static_cast<float>(1 / temperature)),
        lowest_(static_cast<float>(std::max<double>(max + kNegligible * temperature,
                                                    std::numeric_limits<float>::lowest()))) {}

  static bool Fits(float max, double temperature) {
    return temperature >= 1e-6 && std::abs(max) * exp_constants::kLog2E / temperature <= 1024;
  }

  HWY_INLINE void operator()(VF32 x, VF32& exp, VF32& y) const {
    const F32 d;
    const VF32 lowest = hn::Set(d, lowest_), scale_high = hn::Set(d, scale_high_);
    const VF32 clamped = hn::Max(x, lowest);
    const VF32 high = hn::And(clamped, hn::BitCast(d, hn::Set(U32(), kUpperHalf)));
    const VF32 product = hn::Mul(high, scale_high);
    const VF32 rest = hn::Add(hn::Mul(high, hn::Set(d, scale_low_)),
                              hn::Mul(hn::Sub(clamped, high), hn::Set(d, scale_)));
    const VF32 round = hn::Set(d, 0x1.8p23f - n_max_);
    const VF32 t = hn::Add(hn::Add(product, rest), round);
    const VF32 r = hn::Mul(hn::Add(hn::Sub(product, hn::Sub(t, round)), rest), hn::Set(d, kLn2F));
    exp = Scale(ExpNearZero(r), hn::BitCast(I32(), t));
    y = hn::Mul(hn::Sub(clamped, hn::Set(d, max_)), hn::Set(d, per_temperature_));
  }

  int Exponent() const { return static_cast<int>(n_max_); }
  double Unit() const {
    const double n = n_max_;
    return Exp((max_ * per_logit_ - n) * (exp_constants::kLn2High + exp_constants::kLn2Low));
  }

 private:
  static constexpr uint32_t kUpperHalf = 0xFFFFF000;

  float max_;
  double per_logit_;
  float n_max_;
  float scale_;
  float scale_high_;
  float scale_low_;
  float per_temperature_;
  float lowest_;
};

// The same reduced in double, for logits and temperatures that the other two cannot take. Unit 1:
// `max` must be that of the whole row from the start.
class WideTerms {
 public:
  WideTerms(float max, double temperature)
      : max_(max),
        // Bounded, so that 0 times it is 0.
        per_logit_(std::min(exp_constants::kLog2E / temperature, 1e300)) {}

  HWY_INLINE void operator()(VF32 x, VF32& exp, VF32& y) const {
    const F32 d;
    const HalfF32 half;
    const VF32 clamped = hn::Max(x, hn::Set(d, std::numeric_limits<float>::lowest()));
    const VF64 low = Log2Of(LowerDoubles(clamped)), high = Log2Of(UpperDoubles(clamped));
    const auto round = hn::Set(F64(), exp_constants::kRound);
    const VF64 low_t = hn::Add(low, round), high_t = hn::Add(high, round);
    const VF64 low_r = hn::Sub(low, hn::Sub(low_t, round)),
               high_r = hn::Sub(high, hn::Sub(high_t, round));
    const VF32 ln2 = hn::Set(d, kLn2F);
    const VF32 r =
        hn::Mul(hn::Combine(d, hn::DemoteTo(half, high_r), hn::DemoteTo(half, low_r)), ln2);
    const auto n = hn::ConcatEven(I32(), hn::BitCast(I32(), high_t), hn::BitCast(I32(), low_t));
    exp = Scale(ExpNearZero(r), n);
    y = hn::Mul(hn::Combine(d, hn::DemoteTo(half, high), hn::DemoteTo(half, low)), ln2);
  }

  static bool Fits(float, double) { return true; }

  int Exponent() const { return 0; }
  double Unit() const { return 1; }

 private:
  // log2 of e^y, kept where 2^n is a normal float.
  HWY_INLINE VF64 Log2Of(VF64 x) const {
    const F64 d;
    const VF64 y = hn::Mul(hn::Sub(x, hn::Set(d, max_)), hn::Set(d, per_logit_));
    return hn::Max(y, hn::Set(d, -124.0));
  }

  double max_;
  double per_logit_;
};

}  // namespace tokendraw::sampling::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TOKENDRAW_SAMPLING_KERNELS_EXP_TERMS_INL_H_
