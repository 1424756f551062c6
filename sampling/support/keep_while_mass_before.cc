#include <algorithm>
#include <cmath>
#include <limits>

#include "sampling/support.h"

namespace tokendraw::sampling {
namespace {

// A cut by mass is first looked for among tokens as large as the largest of so many blocks, then as
// far out as a sample of so many blocks tells, with some margin.
constexpr size_t kHeadBlocks = 64;
constexpr size_t kSampledBlocks = 12;
constexpr double kOutsideMargin = 0.9;

}  // namespace

// Tokens with a key up to some reach are a beginning of the order. If they hold the mass, and are
// enough, the cut is among them; if not, reach farther, and at last list everything.
double Support::ListBeginning(double mass, const Order& order, size_t least) {
  const double sum = SumExp();
  const double max = Max();
  const float largest = max_;
  const double center = order.by == Order::By::kNearest ? order.center : max;
  double reach = FirstReach(mass * sum, sum, center);
  for (int attempt = 0; attempt < 3; ++attempt, reach *= 1.5) {
    const float low = LowestLogit([=](double x) { return center - x <= reach; });
    const float past = LowestLogit([=](double x) { return x - center > reach; });
    ListBetween(low, std::isinf(past) ? largest : std::nextafter(past, kLowestFinite));
    if (list_.size >= least) {
      Weights();
      // Weights are relative to the largest of the list, the sum to the largest of the row.
      const double scale = Exp(Max() - max);
      if (list_sum_ * scale >= mass * sum) return sum / scale;
    }
    listed_ = false;
    max_ = largest;
  }
  ListAll();
  Weights();
  return list_sum_;
}

// A guess. The largest tokens are known; if they do not hold `inside`, those of a few blocks stand
// for all the others.
double Support::FirstReach(double inside, double sum, double center) {
  const float head = BlockMaxAt(std::min(kHeadBlocks, row_->block_max().size() / 8 + 1));
  FindInRow(head, max_, found_);
  weights_.resize(std::max(weights_.size(), found_.size));
  if (ListWeights(found_.logits(), max_, tempering_, weights_) >= inside) {
    return std::abs(center - tempering_(head));
  }

  const size_t known = found_.size;
  const size_t blocks = row_->block_max().size();
  const size_t stride = std::max<size_t>(blocks / kSampledBlocks, 1);
  const float below = std::nextafter(head, kLowestFinite);
  for (size_t index = stride / 2; index < blocks; index += stride) {
    found_.size += FindBetween(row_->block(index), 0, kLowestFinite, below,
                               &found_.id_room[found_.size], &found_.logit_room[found_.size]);
  }
  keys_.resize(std::max(keys_.size(), found_.size));
  weights_.resize(std::max(weights_.size(), found_.size));
  const std::span<double> keys = std::span(keys_).first(found_.size);
  const std::span<double> weights = std::span(weights_).first(found_.size);
  ListWeights(found_.logits(), max_, tempering_, weights);
  ListDistances(found_.logits(), tempering_, center, keys);
  double total = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    if (i >= known) weights[i] *= static_cast<double>(stride);
    total += weights[i];
  }
  // What must be outside says more than what must be inside: it is many tokens, none of them large.
  const double sampled_inside = total - kOutsideMargin * (sum - inside);
  return sampled_inside > 0 ? selection_.AtMass(keys, weights, sampled_inside, 1).key : 0;
}

void Support::KeepWhileMassBefore(double mass, const Order& order, int32_t min_keep, MassCut cut) {
  const auto least = static_cast<size_t>(min_keep);
  const double sum = listed_ ? SumExp() : ListBeginning(mass, order, least);
  const std::span<const double> weights = Weights();
  const std::span<const double> keys = Keys(order);
  const double below = cut == MassCut::kUpTo ? std::nextafter(mass * sum, HUGE_VAL) : mass * sum;
  Cut last = selection_.AtMass(keys, weights, below, least);
  if (is_open()) {
    const bool is_in_list = list_sum_ >= below && list_.size >= least;
    if (!is_in_list || !IsBeforeOutside(last.key, order)) return Undecide();
  }
  if (cut == MassCut::kBelowWithEqual) last.index = keys.size() - 1;
  KeepUpTo(last, keys);
}

}  // namespace tokendraw::sampling
