// Sums over a whole row of float32 logits.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sampling/kernels/row_sums.cc"
//
#include "hwy/foreach_target.h"
//
#include <cmath>

#include "sampling/kernels/exp_terms-inl.h"
#include "sampling/kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tokendraw::sampling::HWY_NAMESPACE {
namespace {

enum class Kind { kExp, kWeighted, kSquared };

struct RowPartials {
  Partials exp, other;
};

// Two vectors of terms, added.
template <Kind kKind, typename Terms>
HWY_INLINE void AddPair(const float* at, const Terms& terms, VF32& exp, VF32& other) {
  const F32 d;
  VF32 exp_a, exp_b, a, b;
  terms(hn::LoadU(d, at), exp_a, a);
  terms(hn::LoadU(d, at + kPartials), exp_b, b);
  exp = hn::Add(exp_a, exp_b);
  if constexpr (kKind == Kind::kWeighted) {
    other = hn::Add(hn::Mul(a, exp_a), hn::Mul(b, exp_b));
  }
  if constexpr (kKind == Kind::kSquared) {
    other = hn::Add(hn::Mul(exp_a, exp_a), hn::Mul(exp_b, exp_b));
  }
}

template <Kind kKind, typename Terms>
void SumRow(std::span<const float> logits, const Terms& terms, RowPartials& partials) {
  ForEachBlock(logits, [&](const float* block, size_t) HWY_ATTR {
    const F32 d;
    for (size_t lane = 0; lane < kPartials; lane += hn::Lanes(d)) {
      for (size_t i = lane; i < kBlockSize; i += 4 * kPartials) {
        VF32 exp, other = hn::Zero(d), next_exp, next_other = hn::Zero(d);
        AddPair<kKind>(block + i, terms, exp, other);
        AddPair<kKind>(block + i + 2 * kPartials, terms, next_exp, next_other);
        partials.exp.Add(lane, hn::Add(exp, next_exp));
        if constexpr (kKind != Kind::kExp) partials.other.Add(lane, hn::Add(other, next_other));
      }
    }
  });
}

struct RowTotals {
  double exp, other;
};

template <Kind kKind, typename Terms>
RowTotals TotalOf(std::span<const float> logits, const Terms& terms) {
  RowPartials partials;
  SumRow<kKind>(logits, terms, partials);
  const double unit = terms.Unit();
  return {Fold(partials.exp.sums) / unit,
          Fold(partials.other.sums) / (kKind == Kind::kSquared ? unit * unit : unit)};
}

template <Kind kKind>
RowTotals Total(std::span<const float> logits, float max, double temperature) {
  if (temperature == 1 && std::abs(max) <= PlainTerms::kLargestMax) {
    return TotalOf<kKind>(logits, PlainTerms(max));
  }
  if (temperature >= TemperedTerms::kLeastTemperature &&
      std::abs(max) * exp_constants::kLog2E / temperature <= TemperedTerms::kLargestMax) {
    return TotalOf<kKind>(logits, TemperedTerms(max, temperature));
  }
  return TotalOf<kKind>(logits, WideTerms(max, temperature));
}

double SumExpImpl(std::span<const float> logits, float max, double temperature) {
  return Total<Kind::kExp>(logits, max, temperature).exp;
}

WeightedSums SumExpWeightedImpl(std::span<const float> logits, float max, double temperature) {
  const RowTotals totals = Total<Kind::kWeighted>(logits, max, temperature);
  return {totals.exp, totals.other};
}

SquaredSums SumExpSquaredImpl(std::span<const float> logits, float max, double temperature) {
  const RowTotals totals = Total<Kind::kSquared>(logits, max, temperature);
  return {totals.exp, totals.other};
}

PlainSums SumDeviationsImpl(std::span<const float> logits, float max) {
  const F64 dd;
  const size_t half = hn::Lanes(dd);
  const VF64 zero_point = hn::Set(dd, static_cast<double>(max));
  Partials sums, squares;
  size_t count = 0;
  ForEachBlock(logits, [&](const float* block, size_t) HWY_ATTR {
    for (size_t lane = 0; lane < kPartials; lane += half) {
      const HalfF32 part;
      VF64 sum = hn::Load(dd, &sums.sums[lane]), square = hn::Load(dd, &squares.sums[lane]);
      for (size_t i = lane; i < kBlockSize; i += kPartials) {
        const auto x = hn::LoadU(part, block + i);
        const auto is_masked = hn::Eq(x, hn::Set(part, kMasked));
        const auto kept = hn::IfThenElse(is_masked, hn::Set(part, max), x);
        count += half - hn::CountTrue(part, is_masked);
        const VF64 deviation = hn::Sub(hn::PromoteTo(dd, kept), zero_point);
        sum = hn::Add(sum, deviation);
        square = hn::Add(square, hn::Mul(deviation, deviation));
      }
      hn::Store(sum, dd, &sums.sums[lane]);
      hn::Store(square, dd, &squares.sums[lane]);
    }
  });
  return {static_cast<double>(count), Fold(sums.sums), Fold(squares.sums)};
}

}  // namespace
}  // namespace tokendraw::sampling::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tokendraw::sampling {

HWY_EXPORT(SumExpImpl);
HWY_EXPORT(SumExpWeightedImpl);
HWY_EXPORT(SumExpSquaredImpl);
HWY_EXPORT(SumDeviationsImpl);

double SumExp(std::span<const float> logits, float max, double temperature) {
  return HWY_DYNAMIC_DISPATCH(SumExpImpl)(logits, max, temperature);
}

WeightedSums SumExpWeighted(std::span<const float> logits, float max, double temperature) {
  return HWY_DYNAMIC_DISPATCH(SumExpWeightedImpl)(logits, max, temperature);
}

SquaredSums SumExpSquared(std::span<const float> logits, float max, double temperature) {
  return HWY_DYNAMIC_DISPATCH(SumExpSquaredImpl)(logits, max, temperature);
}

PlainSums SumDeviations(std::span<const float> logits, float max) {
  return HWY_DYNAMIC_DISPATCH(SumDeviationsImpl)(logits, max);
}

}  // namespace tokendraw::sampling
#endif  // HWY_ONCE
