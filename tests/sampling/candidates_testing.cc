#include "tests/sampling/candidates_testing.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tokendraw::sampling {
namespace {

double RankOf(float x) { return std::isnan(x) ? HUGE_VAL : x; }

// The formulas of the proto, in float64.
CandidateRow Summarise(std::span<const float> row) {
  std::vector<double> x;
  for (const float logit : row) {
    if (!(logit < HUGE_VALF)) return {};
    if (logit > -HUGE_VALF) x.push_back(logit);
  }
  if (x.empty()) return {};
  const double m = *std::max_element(x.begin(), x.end());
  const auto count = static_cast<double>(x.size());
  double exp = 0, weighted = 0, squared = 0, sum = 0, deviations = 0;
  for (const double value : x) {
    exp += std::exp(value - m);
    if (value - m > -700) weighted += std::exp(value - m) * (value - m);
    squared += std::exp(2 * (value - m));
    sum += value / count;
  }
  for (const double value : x) deviations += (value - sum) * (value - sum) / count;
  return {.log_sum_exp = m + std::log(exp),
          .mean_logit = m + weighted / exp,
          .max = static_cast<float>(m),
          .logit_mean = sum,
          .logit_stddev = std::sqrt(deviations),
          .sum_squared_probability = squared / (exp * exp)};
}

// A float of that size has the second part of the difference.
void ExpectNear(float a, float b) { EXPECT_NEAR(a, b, 1e-5 + 2e-7 * std::abs(b)); }

void ExpectNear(const std::vector<TokenLogprob>& a, const std::vector<TokenLogprob>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].token_id, b[i].token_id);
    ExpectNear(a[i].logprob, b[i].logprob);
  }
}

void ExpectSame(const Draw& a, const Draw& b) {
  EXPECT_EQ(a.token_id, b.token_id);
  EXPECT_EQ(a.kept_ids, b.kept_ids);
  EXPECT_EQ(a.kept_count, b.kept_count);
  EXPECT_EQ(a.xtc_applied, b.xtc_applied);
  EXPECT_EQ(a.greedy, b.greedy);
  EXPECT_NEAR(a.kept_mass, b.kept_mass, 1e-5 * b.kept_mass);
  ExpectNear(a.logprob, b.logprob);
  ExpectNear(a.top_logprobs, b.top_logprobs);
  ExpectNear(a.requested_logprobs, b.requested_logprobs);
}

}  // namespace

CandidateRow Reduced::Row() const {
  CandidateRow row = summary;
  row.ids = ids;
  row.logits = logits;
  return row;
}

Reduced Reduce(std::span<const float> row, size_t count, bool highest_ids) {
  std::vector<int32_t> ids(row.size());
  std::iota(ids.begin(), ids.end(), 0);
  std::sort(ids.begin(), ids.end(), [&](int32_t a, int32_t b) {
    const double x = RankOf(row[static_cast<size_t>(a)]), y = RankOf(row[static_cast<size_t>(b)]);
    return x != y ? x > y : (a < b) != (highest_ids && x < HUGE_VAL);
  });
  ids.resize(std::min(count, row.size()));
  std::sort(ids.begin(), ids.end());
  Reduced reduced = {.ids = ids, .summary = Summarise(row)};
  for (const int32_t id : ids) reduced.logits.push_back(row[static_cast<size_t>(id)]);
  return reduced;
}

void Blur(std::mt19937& random, CandidateRow& summary) {
  const auto off_by = [&](std::optional<double>& value, double accuracy) {
    if (value.has_value()) *value += random() % 2 == 0 ? accuracy : -accuracy;
  };
  off_by(summary.log_sum_exp, 1e-6);
  off_by(summary.mean_logit, 1e-5);
  off_by(summary.logit_stddev, 1e-6 * summary.logit_stddev.value_or(0));
  off_by(summary.sum_squared_probability, 1e-5 * summary.sum_squared_probability.value_or(0));
}

RowInput With(const Reduced& reduced, const RowInput& whole) {
  RowInput input = whole;
  input.logits = {.vocab_size = whole.logits.vocab_size};
  input.candidates = reduced.Row();
  return input;
}

void ExpectSame(const RowResult& candidates, const RowResult& whole) {
  EXPECT_EQ(candidates.error, whole.error);
  EXPECT_EQ(candidates.error_token, whole.error_token);
  EXPECT_EQ(candidates.error_field, whole.error_field);
  ASSERT_EQ(candidates.draws.size(), whole.draws.size());
  for (size_t i = 0; i < whole.draws.size(); ++i) {
    ExpectSame(candidates.draws[i], whole.draws[i]);
  }
}

RowResult Sampled(const Params& params, const RowInput& whole, const Reduced& reduced) {
  return Sampler().Sample(params, With(reduced, whole));
}

void Expect(bool decided, const Params& params, const RowInput& whole, const Reduced& reduced) {
  const RowResult result = Sampled(params, whole, reduced);
  const RowResult expected = Sampler().Sample(params, whole);
  ASSERT_EQ(expected.error, RowErrorCode::kNone);
  if (decided) return ExpectSame(result, expected);
  EXPECT_EQ(result.error, RowErrorCode::kNeedFullRow);
  EXPECT_EQ(result.error_token, -1);
  EXPECT_TRUE(result.draws.empty());
}

std::vector<float> SortedRow() {
  Row row = GaussianRow(kVocab, 2, 8);
  std::sort(row.begin(), row.end(), std::greater<>());
  return row;
}

std::vector<NamedParams> Cuts() {
  return {{"top_n_sigma", {.top_n_sigma = 1}},
          {"p_less", {.p_less = true}},
          {"typical_p", {.typical_p = 0.6}},
          {"top_k", {.top_k = 12}},
          {"top_p", {.top_p = 0.8}},
          {"min_p", {.min_p = 0.1}},
          {"min_keep", {.min_p = 0.9, .min_keep = 9}}};
}

}  // namespace tokendraw::sampling
