// An open list: what can be told of survivors of which only the largest are listed.
#include <algorithm>
#include <cmath>
#include <limits>

#include "sampling/support.h"

namespace tokendraw::sampling {
namespace {

// The sums over a row of memory are within this of the true ones, as a share of the sum (that of
// the mean: of its distance to the largest logit): see SumRequest.
constexpr double kRowAccuracy = 1e-6;

// What is not decided but reported may be off by this, as a share.
constexpr double kReportAccuracy = 1e-5;

// listed + scale * outside, as the sum over a row of memory may come out.
std::optional<Interval> Total(double listed, double scale, const std::optional<Interval>& outside) {
  if (!outside.has_value()) return std::nullopt;
  return Interval{(listed + scale * outside->low) * (1 - kRowAccuracy),
                  (listed + scale * outside->high) * (1 + kRowAccuracy)};
}

}  // namespace

void Support::Reset(const Candidates& row) {
  list_.Assign(row.ids(), row.logits());
  row_ = nullptr;
  listed_ = true;
  max_ = ListMax(list_.logits());
  tempering_ = {};
  tempered_ = false;
  reshaped_ = false;
  origin_ = 0;
  weights_valid_ = false;
  outside_ = row.outside();
  undecided_ = false;
  Reserve(list_.size);
  left_ids_.reserve(list_.size);
}

void Support::Undecide() {
  outside_.reset();
  undecided_ = true;
}

// Rounding is monotone: what is farther than the floor has no smaller key.
bool Support::IsBeforeOutside(double key, const Order& order) const {
  if (!is_open()) return true;
  const double floor = tempering_(outside_->floor);
  if (order.by == Order::By::kLargest) return key < -floor;
  return floor < order.center && key < std::abs(floor - order.center);
}

double Support::Pick(Statistic statistic, const std::optional<Interval>& bounds) {
  if (bounds.has_value() && std::isfinite(bounds->low) && std::isfinite(bounds->high)) {
    asked_ |= statistic;
    if (end_.has_value()) return *end_ & statistic ? bounds->high : bounds->low;
    if (bounds->high - bounds->low <= kReportAccuracy * bounds->low) {
      return (bounds->low + bounds->high) / 2;
    }
  }
  Undecide();
  return 1;
}

double Support::OpenSumExp() { return Pick(kSumExp, Total(list_sum_, 1, OutsideExp())); }

// With y = logit - max_ <= f = floor - max_ outside, n tokens there, temperature T and
// g = 1 / T - 1: e^(y / T) = e^y e^(g y), which is <= e^y e^(g f) if g > 0, and >= that if g < 0.
// Then the sum is at most n^-g (sum of e^y)^(1 / T) (Hölder's inequality).
std::optional<Interval> Support::OutsideExp() const {
  if (!outside_->exp.has_value()) return std::nullopt;
  const double scale = ExpOfAny(static_cast<double>(outside_->pivot) - max_);
  const double low = outside_->exp->low * scale, high = outside_->exp->high * scale;
  if (tempering_.temperature == 1 || !std::isfinite(high)) return Interval{low, high};
  const double g = 1 / tempering_.temperature - 1;
  const double at_floor = ExpOfAny(g * (static_cast<double>(outside_->floor) - max_));
  if (g > 0) return Interval{0, high * at_floor};
  const double log_high = Log(std::max(high, std::numeric_limits<double>::min()));
  return Interval{low > 0 ? low * at_floor : 0,
                  ExpOfAny(log_high / tempering_.temperature - g * Log(outside_->count))};
}

// mu - m = (sum of y e^y) / (sum of e^y), y = x - m, moves one way with the part that tokens
// outside have in either sum.
double Support::OpenMean(double listed_weighted) {
  if (tempered_ || !outside_->exp.has_value() || !outside_->weighted.has_value()) {
    return Pick(kMean, std::nullopt);
  }
  const double shift = static_cast<double>(outside_->pivot) - max_;
  const double scale = ExpOfAny(shift);
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const double exp : {outside_->exp->low, outside_->exp->high}) {
    for (const double weighted : {outside_->weighted->low, outside_->weighted->high}) {
      const double mean =
          (listed_weighted + scale * (weighted + shift * exp)) / (list_sum_ + scale * exp);
      low = std::min(low, mean);
      high = std::max(high, mean);
    }
  }
  return Pick(kMean, Interval{Max() + low * (1 + kRowAccuracy), Max() + high * (1 - kRowAccuracy)});
}

// Nothing is known of squares at another temperature than 1.
Support::SquaredSums Support::OpenSumExpSquared(double temperature, const SquaredSums& listed) {
  if (tempered_ || temperature != 1) {
    Undecide();
    return listed;
  }
  const double scale = ExpOfAny(static_cast<double>(outside_->pivot) - max_);
  const auto exp = Total(listed.exp, scale, outside_->exp);
  const auto squares = Total(listed.squares, scale * scale, outside_->squared);
  return {Pick(kSumExp, exp), Pick(kSumSquared, squares)};
}

double Support::OpenStddev() {
  return Pick(kStddev, Total(0, 1 / tempering_.temperature, outside_->stddev));
}

bool Support::AtEachEnd(absl::FunctionRef<bool()> step) {
  const float max = max_;
  const std::optional<Outside> outside = outside_;
  start_.Assign(list_.ids(), list_.logits());
  asked_ = 0;
  end_ = 0;
  const bool result = step();
  if (asked_ != 0) left_ids_.assign(list_.ids().begin(), list_.ids().end());
  for (unsigned end = 1; end <= asked_ && !undecided_; ++end) {
    if ((end & asked_) != end) continue;
    list_.Assign(start_.ids(), start_.logits());
    max_ = max;
    outside_ = outside;
    weights_valid_ = false;
    end_ = end;
    step();
    if (!std::ranges::equal(list_.ids(), left_ids_)) Undecide();
  }
  end_.reset();
  return result;
}

}  // namespace tokendraw::sampling
