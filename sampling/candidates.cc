#include "sampling/candidates.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "sampling/patches.h"

namespace tokendraw::sampling {
namespace {

// How near a summary is to the truth (proto/tokendraw/v1/logits.proto), and a little for rounding.
// What is written as max + something also has the rounding of a double of that size.
constexpr double kSquaredAccuracy = 1.001e-5;
constexpr double kStddevAccuracy = 1.001e-6;
double Rounding(double max) { return std::isfinite(max) ? 0x1p-50 * std::abs(max) : 0; }
double LogSumExpAccuracy(double max) { return 1.001e-6 + Rounding(max); }
double MeanAccuracy(double max) { return 1.001e-5 + Rounding(max); }

// The field of the summary that is NaN or infinite, or null.
const char* FindNotFinite(const CandidateRow& row) {
  const auto is_bad = [](const auto& value) { return value.has_value() && !std::isfinite(*value); };
  if (is_bad(row.log_sum_exp)) return "log_sum_exp";
  if (is_bad(row.mean_logit)) return "mean_logit";
  if (is_bad(row.max)) return "max";
  if (is_bad(row.logit_mean)) return "logit_mean";
  if (is_bad(row.logit_stddev)) return "logit_stddev";
  if (is_bad(row.sum_squared_probability)) return "sum_squared_probability";
  return nullptr;
}

// The field of the summary that cannot be, or null. `listed` are the sums of the candidates about
// their largest logit `max`; the others add at most `most` to the sum of exponentials.
const char* FindContradiction(const CandidateRow& row, double max, const RowSums& listed,
                              double most) {
  double largest_sum = listed.exp + most;
  if (row.log_sum_exp.has_value()) {
    const double accuracy = LogSumExpAccuracy(max);
    const auto log_sum = [=](double sum) { return sum > 0 ? max + Log(sum) : max; };
    if (*row.log_sum_exp < log_sum(listed.exp) - accuracy) return "log_sum_exp";
    if (*row.log_sum_exp > log_sum(largest_sum) + accuracy) return "log_sum_exp";
    largest_sum = std::min(largest_sum, ExpOfAny(*row.log_sum_exp + accuracy - max));
  }
  if (row.mean_logit.value_or(max) > max + MeanAccuracy(max)) return "mean_logit";
  if (row.max.value_or(max) != max) return "max";
  if (row.logit_stddev.value_or(0) < 0) return "logit_stddev";
  if (row.sum_squared_probability.has_value()) {
    const double squared = *row.sum_squared_probability;
    const double least = listed.squared / (largest_sum * largest_sum);
    if (!(squared > 0 && squared <= 1 + kSquaredAccuracy)) return "sum_squared_probability";
    if (squared < least * (1 - kSquaredAccuracy)) return "sum_squared_probability";
  }
  return nullptr;
}

// What is left of `total` without `listed`, if it can be within [lowest, highest] alone.
Interval Rest(const Interval& total, double listed, double lowest, double highest) {
  return {std::clamp(total.low - listed, lowest, highest),
          std::clamp(total.high - listed, lowest, highest)};
}

}  // namespace

RowError Candidates::Read(const CandidateRow& row, int32_t vocab_size) {
  const auto not_finite = std::ranges::find_if_not(row.logits, IsFinite);
  if (not_finite != row.logits.end()) {
    const int32_t token = row.ids[static_cast<size_t>(not_finite - row.logits.begin())];
    return {.code = RowErrorCode::kNotFinite, .token = token};
  }
  if (const char* field = FindNotFinite(row)) {
    return {.code = RowErrorCode::kNotFinite, .field = field};
  }
  vocab_size_ = vocab_size;
  ids_.assign(row.ids.begin(), row.ids.end());
  logits_.assign(row.logits.begin(), row.logits.end());
  const float max = ListMax(logits_);
  outside_ = {.floor = *std::ranges::min_element(logits_),
              .count = vocab_size - static_cast<int32_t>(ids_.size()),
              .pivot = max};

  RowSums listed;
  double most = 0;
  if (max != kMasked) {
    weights_.resize(std::max(weights_.size(), logits_.size()));
    listed.exp = ListWeights(logits_, max, {}, weights_);
    for (size_t i = 0; i < logits_.size(); ++i) {
      if (weights_[i] == 0) continue;  // x may be -inf
      listed.weighted += (static_cast<double>(logits_[i]) - max) * weights_[i];
      listed.squared += weights_[i] * weights_[i];
    }
    most = outside_.count * Exp(static_cast<double>(outside_.floor) - max);
  }
  if (const char* field = FindContradiction(row, max, listed, most)) {
    return {.code = RowErrorCode::kBadSummary, .field = field};
  }
  if (!IsComplete()) BoundOutside(row, listed);
  return {};
}

void Candidates::BoundOutside(const CandidateRow& row, const RowSums& listed) {
  const double max = outside_.pivot;
  const double floor = outside_.floor - max;
  if (row.logit_stddev.has_value()) {
    outside_.stddev = {*row.logit_stddev * (1 - kStddevAccuracy),
                       *row.logit_stddev * (1 + kStddevAccuracy)};
  }
  if (!row.log_sum_exp.has_value()) return;
  const double accuracy = LogSumExpAccuracy(max);
  const Interval total = {ExpOfAny(*row.log_sum_exp - accuracy - max),
                          ExpOfAny(*row.log_sum_exp + accuracy - max)};
  outside_.exp = Rest(total, listed.exp, 0, outside_.count * Exp(floor));
  const Interval sum = {listed.exp + outside_.exp->low, listed.exp + outside_.exp->high};

  if (row.mean_logit.has_value()) {
    const double mean = *row.mean_logit - max;
    const double lowest = mean - MeanAccuracy(max);
    const double highest = std::min(mean + MeanAccuracy(max), 0.0);
    outside_.weighted = Rest({lowest * sum.high, highest * sum.low}, listed.weighted,
                             -std::numeric_limits<double>::infinity(), 0);
  }
  if (row.sum_squared_probability.has_value()) {
    const double squared = *row.sum_squared_probability;
    outside_.squared = Rest({squared * (1 - kSquaredAccuracy) * sum.low * sum.low,
                             squared * (1 + kSquaredAccuracy) * sum.high * sum.high},
                            listed.squared, 0, outside_.count * Exp(2 * floor));
  }
}

bool Candidates::IsComplete() const { return outside_.count == 0 || outside_.floor == kMasked; }

bool Candidates::IsCompleteWith(std::span<const std::byte> allowed_mask) const {
  int32_t unlisted = 0;
  for (const int32_t id : ids_) unlisted -= IsAllowed(allowed_mask.data(), id);
  constexpr int32_t kWordBits = 32;
  for (int32_t first = 0; first < vocab_size_; first += kWordBits) {
    uint32_t word;
    std::memcpy(&word, &allowed_mask[static_cast<size_t>(first) / 8], sizeof(word));
    if (vocab_size_ - first < kWordBits) word &= (uint32_t{1} << (vocab_size_ - first)) - 1;
    if (word != 0) unlisted += std::popcount(word);
    if (unlisted > 0) return false;
  }
  return true;
}

void Candidates::CopyTo(std::vector<float>& row) const {
  row.assign(static_cast<size_t>(vocab_size_), kMasked);
  for (size_t i = 0; i < ids_.size(); ++i) row[static_cast<size_t>(ids_[i])] = logits_[i];
}

// Of an edited token that is not listed, e^y was in (0, e^floor], and is in [0, e^bound].
RowError Candidates::Edit(std::span<const Patch> patches, const std::byte* allowed_mask) {
  if (patches.empty() && allowed_mask == nullptr) return {};
  const float old_floor = outside_.floor;
  int32_t edited_outside = 0;
  double most = 0;  // of e^y of these
  auto patch = patches.begin();
  const auto pass_outside = [&](int32_t before_id) {
    for (; patch != patches.end() && patch->id < before_id; ++patch) {
      if (!IsFinite(patch->logit)) return false;
      ++edited_outside;
      most += ExpOfAny(static_cast<double>(patch->logit) - outside_.pivot);
      outside_.floor = std::max(outside_.floor, patch->logit);
    }
    return true;
  };
  size_t size = 0;
  for (size_t i = 0; i < ids_.size(); ++i) {
    const int32_t id = ids_[i];
    if (!pass_outside(id)) return {.code = RowErrorCode::kNeedFullRow};
    float logit = IsAllowed(allowed_mask, id) ? logits_[i] : kMasked;
    if (patch != patches.end() && patch->id == id) logit = (patch++)->logit;
    if (!IsFinite(logit)) return {.code = RowErrorCode::kNotFinite, .token = id};
    ids_[size] = id;
    logits_[size] = logit;
    size += logit != kMasked;
  }
  if (!pass_outside(vocab_size_) || size == 0) return {.code = RowErrorCode::kNeedFullRow};
  ids_.resize(size);
  logits_.resize(size);

  outside_.stddev.reset();
  if (edited_outside == 0 && allowed_mask == nullptr) return {};
  outside_.weighted.reset();
  outside_.squared.reset();
  if (outside_.exp.has_value()) {
    const double least =
        outside_.exp->low - edited_outside * Exp(static_cast<double>(old_floor) - outside_.pivot);
    outside_.exp->low = allowed_mask == nullptr ? std::max(least, 0.0) : 0;
    outside_.exp->high += most;
  }
  return {};
}

}  // namespace tokendraw::sampling
