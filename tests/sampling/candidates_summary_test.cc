// Candidates and summaries that are not in order.
#include <functional>

#include "tests/sampling/candidates_testing.h"
#include "tests/sampling/testing.h"

namespace tokendraw::sampling {
namespace {

TEST(CandidatesSummaryTest, NotFiniteAsItCame) {
  const Row row = SortedRow();
  for (const float logit : {kNan, kInf}) {
    Reduced reduced = Reduce(row, 10);
    reduced.logits[4] = reduced.logits[6] = logit;
    reduced.summary.log_sum_exp = kNan;
    const RowResult result = Sampled({.temperature = 0}, InputOf(row), reduced);
    EXPECT_EQ(result.error, RowErrorCode::kNotFinite);
    EXPECT_EQ(result.error_token, 4);
    EXPECT_EQ(result.error_field, nullptr);
  }
}

struct SummaryCase {
  const char* field;
  std::function<void(CandidateRow&, double)> set;
};
std::vector<SummaryCase> SummaryFields() {
  return {{"log_sum_exp", [](CandidateRow& row, double x) { row.log_sum_exp = x; }},
          {"mean_logit", [](CandidateRow& row, double x) { row.mean_logit = x; }},
          {"max", [](CandidateRow& row, double x) { row.max = static_cast<float>(x); }},
          {"logit_mean", [](CandidateRow& row, double x) { row.logit_mean = x; }},
          {"logit_stddev", [](CandidateRow& row, double x) { row.logit_stddev = x; }},
          {"sum_squared_probability",
           [](CandidateRow& row, double x) { row.sum_squared_probability = x; }}};
}

TEST(CandidatesSummaryTest, SummaryNotFinite) {
  const Row row = SortedRow();
  for (const SummaryCase& c : SummaryFields()) {
    for (const float value : {kNan, kInf, -kInf}) {
      for (const size_t count : {size_t{10}, kVocab}) {
        SCOPED_TRACE(c.field);
        Reduced reduced = Reduce(row, count);
        c.set(reduced.summary, value);
        const RowResult result = Sampled({.temperature = 0}, InputOf(row), reduced);
        EXPECT_EQ(result.error, RowErrorCode::kNotFinite);
        EXPECT_EQ(result.error_token, -1);
        EXPECT_STREQ(result.error_field, c.field);
      }
    }
  }
}

// The row: 2 candidates, 0 and -1, of 4 tokens.
TEST(CandidatesSummaryTest, SummaryContradicted) {
  const double least = std::log(1 + std::exp(-1.0));
  const double most = std::log(1 + 3 * std::exp(-1.0));
  const double squared = (1 + std::exp(-2.0)) / std::pow(1 + 3 * std::exp(-1.0), 2);
  struct ValueCase {
    const char* field;
    double good, bad;
  };
  const ValueCase cases[] = {
      {"log_sum_exp", least - 0.9e-6, least - 1.1e-6},
      {"log_sum_exp", most + 0.9e-6, most + 1.1e-6},
      {"mean_logit", 0.9e-5, 1.1e-5},
      {"max", 0, -1e-9},
      {"max", -0.0, 1e-9},
      {"logit_stddev", 0, -1e-9},
      {"sum_squared_probability", squared * (1 - 0.9e-5), squared * (1 - 3e-5)},
      {"sum_squared_probability", 1 + 0.9e-5, 1 + 1.1e-5},
      {"sum_squared_probability", 1, 0},
      {"sum_squared_probability", 1, -1}};
  const Row row = {0, -1, -1, -1};
  for (const ValueCase& c : cases) {
    SCOPED_TRACE(testing::Message() << c.field << " " << c.bad);
    const std::vector<SummaryCase> fields = SummaryFields();
    const auto field = std::ranges::find_if(
        fields, [&](const SummaryCase& f) { return std::string(f.field) == c.field; });
    Reduced reduced = Reduce(row, 2);
    reduced.summary = {};
    field->set(reduced.summary, c.good);
    ExpectDecided({.temperature = 0}, InputOf(row), reduced);
    field->set(reduced.summary, c.bad);
    const RowResult result = Sampled({.temperature = 0}, InputOf(row), reduced);
    EXPECT_EQ(result.error, RowErrorCode::kBadSummary);
    EXPECT_EQ(result.error_token, -1);
    EXPECT_STREQ(result.error_field, c.field);
  }
}

// A complete list is checked against its summary, though it does not need it.
TEST(CandidatesSummaryTest, SummaryOfCompleteCandidates) {
  const Row row = {0, -1, -kInf};
  Reduced reduced = Reduce(row, 3);
  ExpectDecided({}, InputOf(row), reduced);
  *reduced.summary.log_sum_exp += 2e-6;
  EXPECT_STREQ(Sampled({}, InputOf(row), reduced).error_field, "log_sum_exp");
  const Row masked = {-kInf, -kInf};
  Reduced none = Reduce(masked, 2);
  none.summary.log_sum_exp = 0;
  EXPECT_STREQ(Sampled({}, InputOf(masked), none).error_field, "log_sum_exp");
}

TEST(CandidatesSummaryTest, AnErrorIsReplaced) {
  const Row row = SortedRow();
  Reduced reduced = Reduce(row, 10);
  reduced.summary.max = row[0] + 1;
  Sampler sampler;
  RowResult result;
  sampler.Sample({}, With(reduced, InputOf(row)), result);
  EXPECT_STREQ(result.error_field, "max");
  sampler.Sample({}, InputOf(row), result);
  EXPECT_EQ(result.error, RowErrorCode::kNone);
  EXPECT_EQ(result.error_field, nullptr);
}

}  // namespace
}  // namespace tokendraw::sampling
