#include <algorithm>
#include <cmath>

#include "sampling/support.h"

namespace tokendraw::sampling {

const RowSums& Support::SumOverRow(const SumRequest& request) {
  const bool is_known = row_sums_.has_value() && request.temperature == row_request_.temperature &&
                        (request.kind == row_request_.kind ||
                         (request.kind == SumRequest::Kind::kExp && row_sums_->exp > 0));
  if (!is_known) {
    row_request_ = request;
    row_sums_ = SumRow(row_->blocks(), row_->block_max(), request);
  }
  return *row_sums_;
}

double Support::SumExp() {
  if (!listed_) return SumOverRow({SumRequest::Kind::kExp, tempering_.temperature}).exp;
  Weights();
  return is_open() ? OpenSumExp() : list_sum_;
}

double Support::Mean() {
  if (!listed_) {
    const RowSums& sums = SumOverRow({SumRequest::Kind::kWeighted, tempering_.temperature});
    return Max() + sums.weighted / sums.exp;
  }
  const std::span<const double> weights = Weights();
  FixedOrderSum sum;
  for (size_t i = 0; i < weights.size(); ++i) {
    sum.Add((tempering_(list_.logit_room[i]) - Max()) * weights[i]);
  }
  return is_open() ? OpenMean(sum.Total()) : Max() + sum.Total() / list_sum_;
}

double Support::SumExpOfLogits(double max) {
  if (!listed_) {
    return SumOverRow({SumRequest::Kind::kExp, 1}).exp * Exp(static_cast<double>(max_) - max);
  }
  if (keys_.size() < list_.size) keys_.resize(list_.size);
  return ListWeights(list_.logits(), static_cast<float>(max), {}, keys_);
}

Support::SquaredSums Support::SumExpSquared(double temperature) {
  if (!listed_) {
    const RowSums& sums =
        SumOverRow({SumRequest::Kind::kSquared, tempering_.temperature * temperature});
    return {sums.exp, sums.squared};
  }
  FixedOrderSum sum, squares;
  for (const float logit : list_.logits()) {
    const double e = Exp((tempering_(logit) - Max()) / temperature);
    sum.Add(e);
    squares.Add(e * e);
  }
  const SquaredSums listed = {sum.Total(), squares.Total()};
  return is_open() ? OpenSumExpSquared(temperature, listed) : listed;
}

double Support::Stddev() {
  if (!listed_) return SumOverRow({SumRequest::Kind::kStddev}).stddev / tempering_.temperature;
  if (is_open()) return OpenStddev();
  FixedOrderSum sum, squares;
  for (const float logit : list_.logits()) {
    const double deviation = tempering_(logit) - Max();
    sum.Add(deviation);
    squares.Add(deviation * deviation);
  }
  const auto count = static_cast<double>(list_.size);
  const double mean = sum.Total() / count;
  return std::sqrt(std::max(squares.Total() / count - mean * mean, 0.0));
}

}  // namespace tokendraw::sampling
