// Sums over a row: while it is read, or later.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sampling/kernels/row_sums.cc"
//
#include "hwy/foreach_target.h"
//
#include <cmath>
#include <optional>

#include "sampling/kernels/exp_terms-inl.h"
#include "sampling/kernels/row_sums.h"
#include "sampling/kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tokendraw::sampling::HWY_NAMESPACE {
namespace {

using SumKind = SumRequest::Kind;

// Sums of e^y, and of what `kKind` names, relative to the largest logit so far: when a block raises
// that, what has been summed is scaled, by a power of two.
template <SumKind kKind, typename Terms>
class ExpSums {
 public:
  explicit ExpSums(double temperature) : temperature_(temperature) {}

  // `max` is at least the largest logit of the block.
  void Add(const float* block, float max) {
    if (max == kMasked) return;
    if (max > max_) Raise(max);
    if (!fits_) return;
    const Terms terms = *terms_;  // its constants stay in registers
    const F32 d;
    for (size_t lane = 0; lane < kPartials; lane += hn::Lanes(d)) {
      for (size_t i = lane; i < kBlockSize; i += 4 * kPartials) {
        VF32 exp, other = hn::Zero(d), next_exp, next_other = hn::Zero(d);
        AddPair(block + i, terms, exp, other);
        AddPair(block + i + 2 * kPartials, terms, next_exp, next_other);
        exp_.Add(lane, hn::Add(exp, next_exp));
        if constexpr (kKind != SumKind::kExp) other_.Add(lane, hn::Add(other, next_other));
      }
    }
  }

  // Nothing if the logits are not for `Terms`.
  std::optional<RowSums> Totals() const {
    if (!fits_ || !terms_) return std::nullopt;
    const double unit = terms_->Unit();
    RowSums sums = {.exp = Fold(exp_.sums) / unit};
    if constexpr (kKind == SumKind::kWeighted) sums.weighted = Fold(other_.sums) / unit;
    if constexpr (kKind == SumKind::kSquared) sums.squared = Fold(other_.sums) / (unit * unit);
    return sums;
  }

 private:
  // Two vectors of terms, added.
  static HWY_INLINE void AddPair(const float* at, const Terms& terms, VF32& exp, VF32& other) {
    const F32 d;
    VF32 exp_a, exp_b, y_a, y_b;
    terms(hn::LoadU(d, at), exp_a, y_a);
    terms(hn::LoadU(d, at + kPartials), exp_b, y_b);
    exp = hn::Add(exp_a, exp_b);
    if constexpr (kKind == SumKind::kWeighted) {
      other = hn::Add(hn::Mul(y_a, exp_a), hn::Mul(y_b, exp_b));
    }
    if constexpr (kKind == SumKind::kSquared) {
      other = hn::Add(hn::Mul(exp_a, exp_a), hn::Mul(exp_b, exp_b));
    }
  }

  void Raise(float max) {
    fits_ = fits_ && Terms::Fits(max, temperature_);
    if (!fits_) return;
    const Terms raised(max, temperature_);
    if (terms_) {
      const double shift = (static_cast<double>(max_) - max) / temperature_;  // of y
      const double scale = std::ldexp(1.0, terms_->Exponent() - raised.Exponent());
      for (size_t i = 0; i < kPartials; ++i) {
        if constexpr (kKind == SumKind::kWeighted) {
          other_.sums[i] = (other_.sums[i] + shift * exp_.sums[i]) * scale;
        }
        if constexpr (kKind == SumKind::kSquared) other_.sums[i] *= scale * scale;
        exp_.sums[i] *= scale;
      }
    }
    max_ = max;
    terms_ = raised;
  }

  double temperature_;
  float max_ = kMasked;
  bool fits_ = true;
  std::optional<Terms> terms_;
  Partials exp_, other_;
};

// Deviations from some logit of the row: however far that is from the mean, it is within
// sqrt(V) standard deviations of it.
class DeviationSums {
 public:
  void Add(const float* block, float max) {
    if (max == kMasked) return;
    if (count_ == 0) pivot_ = max;
    const F32 d;
    const F64 dd;
    const size_t half = hn::Lanes(dd);
    const VF32 nothing = hn::Set(d, kMasked), pivot = hn::Set(d, pivot_);
    const VF64 wide_pivot = hn::Set(dd, static_cast<double>(pivot_));
    size_t masked = 0;
    for (size_t lane = 0; lane < kPartials; lane += hn::Lanes(d)) {
      double *sum = &sums_.sums[lane], *square = &squares_.sums[lane];
      VF64 low_sum = hn::Load(dd, sum), high_sum = hn::Load(dd, sum + half);
      VF64 low_square = hn::Load(dd, square), high_square = hn::Load(dd, square + half);
      for (size_t i = lane; i < kBlockSize; i += kPartials) {
        const VF32 x = hn::LoadU(d, block + i);
        const auto is_masked = hn::Eq(x, nothing);
        masked += hn::CountTrue(d, is_masked);
        const VF32 kept = hn::IfThenElse(is_masked, pivot, x);
        const VF64 low = hn::Sub(LowerDoubles(kept), wide_pivot);
        const VF64 high = hn::Sub(UpperDoubles(kept), wide_pivot);
        low_sum = hn::Add(low_sum, low);
        high_sum = hn::Add(high_sum, high);
        low_square = hn::Add(low_square, hn::Mul(low, low));
        high_square = hn::Add(high_square, hn::Mul(high, high));
      }
      hn::Store(low_sum, dd, sum);
      hn::Store(high_sum, dd, sum + half);
      hn::Store(low_square, dd, square);
      hn::Store(high_square, dd, square + half);
    }
    count_ += kBlockSize - masked;
  }

  RowSums Totals() const {
    const auto count = static_cast<double>(count_);
    const double mean = Fold(sums_.sums) / count;
    const double variance = Fold(squares_.sums) / count - mean * mean;
    return {.stddev = std::sqrt(std::max(variance, 0.0))};
  }

 private:
  float pivot_ = 0;
  size_t count_ = 0;
  Partials sums_, squares_;
};

template <typename Sums>
std::optional<RowSums> SumFed(Sums sums, FeedRow feed) {
  feed([&](const float* block, float max) HWY_ATTR { sums.Add(block, max); });
  return sums.Totals();
}

template <typename Terms>
std::optional<RowSums> SumExpFed(const SumRequest& request, FeedRow feed) {
  switch (request.kind) {
    case SumKind::kExp:
      return SumFed(ExpSums<SumKind::kExp, Terms>(request.temperature), feed);
    case SumKind::kWeighted:
      return SumFed(ExpSums<SumKind::kWeighted, Terms>(request.temperature), feed);
    case SumKind::kSquared:
      return SumFed(ExpSums<SumKind::kSquared, Terms>(request.temperature), feed);
    case SumKind::kNone:
    case SumKind::kStddev:
      break;
  }
  return std::nullopt;
}

std::optional<RowSums> SumFedImpl(const SumRequest& request, FeedRow feed) {
  if (request.kind == SumKind::kNone) {
    feed([](const float*, float) {});
    return std::nullopt;
  }
  if (request.kind == SumKind::kStddev) return SumFed(DeviationSums(), feed);
  return request.temperature == 1 ? SumExpFed<PlainTerms>(request, feed)
                                  : SumExpFed<TemperedTerms>(request, feed);
}

RowSums SumRowImpl(Blocks blocks, const float* block_max, const SumRequest& request) {
  const auto feed = [&](AddBlock add) {
    for (size_t i = 0; i < blocks.size(); ++i) add(blocks[i], block_max[i]);
  };
  if (const std::optional<RowSums> sums = SumFedImpl(request, feed)) return *sums;

  const float max = *std::max_element(block_max, block_max + blocks.size());
  const auto feed_with_max = [&](AddBlock add) {
    for (const float* block : blocks) add(block, max);
  };
  return SumExpFed<WideTerms>(request, feed_with_max).value_or(RowSums());
}

}  // namespace
}  // namespace tokendraw::sampling::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tokendraw::sampling {

HWY_EXPORT(SumFedImpl);
HWY_EXPORT(SumRowImpl);

std::optional<RowSums> SumFedBlocks(const SumRequest& request, FeedRow feed) {
  return HWY_DYNAMIC_DISPATCH(SumFedImpl)(request, feed);
}

RowSums SumRow(Blocks blocks, std::span<const float> block_max, const SumRequest& request) {
  return HWY_DYNAMIC_DISPATCH(SumRowImpl)(blocks, block_max.data(), request);
}

}  // namespace tokendraw::sampling
#endif  // HWY_ONCE
