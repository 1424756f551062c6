// What candidates decide, and what they do not: one case on each side of every rule.
#include <algorithm>
#include <functional>

#include "tests/sampling/candidates_testing.h"
#include "tests/sampling/testing.h"

namespace tokendraw::sampling {
namespace {

TEST(CandidatesTest, ACutIsDecidedAboveTheSmallestCandidate) {
  const Row row = SortedRow();
  for (const NamedParams& c : Cuts()) {
    SCOPED_TRACE(c.name);
    Params params = c.params;
    params.return_kept = true;
    const auto last = static_cast<size_t>(KeptIds(params, row).back());
    ASSERT_GT(last, 0u);
    ASSERT_LT(last, kVocab / 2);
    ExpectDecided(params, row, last + 40);
    ExpectNeedsRow(params, row, last + 1);
    ExpectDecided(params, row, last + 2);
  }
}

// The sum at another temperature is known by bounds.
TEST(CandidatesTest, TopPAfterTemperature) {
  const Row row = SortedRow();
  for (const double temperature : {0.3, 0.8, 1.02}) {
    SCOPED_TRACE(temperature);
    const Params params{.temperature = temperature, .top_p = 0.6};
    const auto last = static_cast<size_t>(KeptIds(params, row).back());
    ExpectDecided(params, row, 550);
    ExpectNeedsRow(params, row, last + 1);
  }
  // Colder, the others have at most e^(g f) of what they had, g = 1 / 0.5 - 1; and at least
  // nothing.
  const size_t count = 100;
  const Reduced reduced = Reduce(row, count);
  double listed = 0, outside = 0;
  for (size_t i = 0; i < kVocab; ++i) {
    if (i < count) listed += std::exp((row[i] - row[0]) / 0.5);
    if (i >= count) outside += std::exp(row[i] - row[0]);
  }
  const double most = outside * std::exp(row[count - 1] - row[0]);
  const double before = (1 + std::exp((row[1] - row[0]) / 0.5)) / (listed + most / 2);
  EXPECT_GT(before, 0.1);
  ExpectNeedsRow({.temperature = 0.5, .top_p = before}, InputOf(row), reduced);
  for (const double wide : {-1.1, 1.1}) {
    const double share = most / 2 / listed * wide;
    ExpectDecided({.temperature = 0.5, .top_p = before * (1 + share)}, InputOf(row), reduced);
  }
}

// XTC before the argmax, as mlxcel has it, guesses no more than XTC in a chain.
TEST(CandidatesTest, XtcOnGreedyRows) {
  const Row row = SortedRow();
  double sum = 0;
  for (const float x : row) sum += std::exp(double{x} - row[0]);
  const double third = std::exp(double{row[2]} - row[0]) / sum;
  for (const double temperature : {0.0, 1.0}) {
    Params params{.temperature = temperature, .xtc_probability = 1, .profile = Profile::kMlxcel};
    if (temperature > 0) params.top_k = 1;
    params.xtc_threshold = third * (1 + 1e-8);
    ExpectNeedsRow(params, row, 100);
    for (const double factor : {0.999, 1.001}) {
      params.xtc_threshold = third * factor;
      ExpectDecided(params, row, 100);
      EXPECT_EQ(TokenOf(params, row), factor < 1 ? 2 : 1);
    }
  }
}

TEST(CandidatesTest, XtcIsDecidedAboveTheSmallestCandidate) {
  const Row row = SortedRow();
  Params params{.min_p = 1, .xtc_probability = 1, .xtc_threshold = 0.03, .return_kept = true};
  const Draw draw = DrawOf(params, InputOf(row));
  ASSERT_TRUE(draw.xtc_applied);
  const auto last = static_cast<size_t>(draw.token_id);
  ASSERT_GT(last, 2u);
  ExpectDecided(params, row, last + 2);
  ExpectNeedsRow(params, row, last + 1);
  params.xtc_protected_ids = {0, 1};
  ExpectDecided(params, row, last + 2);
  // XTC leaves the list open: a draw needs a cut.
  params.min_p = 0;
  ExpectNeedsRow(params, row, last + 2);
  // Sums that are left are known; the deviation is not.
  params.top_p = 0.3;
  ExpectDecided(params, row, 300);
  params.chain = {Filter::kXtc, Filter::kTypicalP};
  params.typical_p = 0.3;
  ExpectDecided(params, row, 300);
  params.chain = {Filter::kXtc, Filter::kPLess};
  params.p_less = true;
  ExpectDecided(params, row, 300);
  params.chain = {Filter::kXtc, Filter::kTopNSigma};
  params.top_n_sigma = 0.5;
  ExpectNeedsRow(params, row, 300);
}

TEST(CandidatesTest, ADrawNeedsACut) {
  const Row row = SortedRow();
  ExpectNeedsRow({}, row, kVocab - 1);
  ExpectNeedsRow({.temperature = 0.5}, row, kVocab - 1);
  ExpectNeedsRow({.top_k = static_cast<int32_t>(kVocab)}, row, kVocab - 1);
  ExpectDecided({.top_k = static_cast<int32_t>(kVocab) - 2}, row, kVocab - 1);
}

TEST(CandidatesTest, GreedyNeedsTheLargestAboveTheOthers) {
  Row row = SortedRow();
  ExpectDecided({.temperature = 0}, row, 2);
  ExpectNeedsRow({.temperature = 0}, row, 1);
  row[2] = row[1] = row[0];
  ExpectDecided({.temperature = 0}, InputOf(row), Reduce(row, 4, true));
  ExpectNeedsRow({.temperature = 0}, InputOf(row), Reduce(row, 2, true));
  // What else temperature 0 leaves is all others.
  ExpectDecided({.top_k = 1, .return_kept = true}, row, 4);
  ExpectNeedsRow({.temperature = 0, .return_kept = true}, row, 4);
}

// Outside tokens as large as the smallest candidate may have lower ids.
TEST(CandidatesTest, TiesAtTheFloorAreNotDecided) {
  Row row = SortedRow();
  for (size_t i = 5; i < 20; ++i) row[i] = row[5];
  const Reduced reduced = Reduce(row, 10, true);
  ASSERT_EQ(reduced.ids.back(), 19);
  ExpectDecided({.top_k = 5}, InputOf(row), reduced);
  ExpectNeedsRow({.top_k = 6}, InputOf(row), reduced);
  const double ratio = std::exp(row[5] - row[0]);
  ExpectDecided({.min_p = ratio * 1.01}, InputOf(row), reduced);
  ExpectNeedsRow({.min_p = ratio * 0.99}, InputOf(row), reduced);
}

// So they are for XTC, and where the next smaller float is far.
TEST(CandidatesTest, TiesAtTheFloorOfLargeLogits) {
  constexpr float kLarge = 1 << 25;
  Row row(12, kLarge + 4);
  row[0] = row[1] = kLarge + 8;
  const Reduced reduced = Reduce(row, 4, true);
  ASSERT_EQ(reduced.ids, (IdList{0, 1, 10, 11}));
  Params params{.min_p = 1, .xtc_probability = 1, .xtc_threshold = 0.1};
  ExpectDecided(params, InputOf(row), reduced);
  params = {.top_p = 0.48, .xtc_probability = 1, .xtc_protected_ids = {0, 1}};
  params.xtc_threshold = 0.002;  // removes tokens outside too, which moves the cut of top_p
  ExpectNeedsRow(params, InputOf(row), reduced);
  ExpectDecided({.min_p = 0.1}, InputOf(row), reduced);
  ExpectNeedsRow({.min_p = 0.01}, InputOf(row), reduced);
}

// All candidates strictly above the others is not known either, unless they show it.
TEST(CandidatesTest, TemperatureMayHideTheOrder) {
  Row row(100, 0);
  row[50] = 1e-38f;  // tempered, its logit is that of the others
  Params params{.temperature = 1e30, .top_k = 3};
  ExpectNeedsRow(params, row, 3);
  row[50] = 0.5f;
  row[60] = row[70] = 0.25f;
  params.temperature = 2;
  ExpectDecided(params, row, 4);
}

TEST(CandidatesTest, UnsetFieldsAreUnknown) {
  const Row row = SortedRow();
  struct FieldCase {
    const char* name;
    std::function<void(CandidateRow&)> clear;
    std::vector<std::string> needed_by;
  };
  const FieldCase fields[] = {
      {"log_sum_exp",
       [](CandidateRow& summary) { summary.log_sum_exp.reset(); },
       {"p_less", "typical_p", "top_p"}},
      {"mean_logit", [](CandidateRow& summary) { summary.mean_logit.reset(); }, {"typical_p"}},
      {"max", [](CandidateRow& summary) { summary.max.reset(); }, {}},
      {"logit_mean", [](CandidateRow& summary) { summary.logit_mean.reset(); }, {}},
      {"logit_stddev",
       [](CandidateRow& summary) { summary.logit_stddev.reset(); },
       {"top_n_sigma"}},
      {"sum_squared_probability",
       [](CandidateRow& summary) { summary.sum_squared_probability.reset(); },
       {"p_less"}}};
  for (const FieldCase& field : fields) {
    Reduced reduced = Reduce(row, 300);
    field.clear(reduced.summary);
    for (const NamedParams& c : Cuts()) {
      SCOPED_TRACE(std::string(field.name) + ", " + c.name);
      const bool needed = std::ranges::count(field.needed_by, c.name) > 0;
      Expect(!needed, c.params, InputOf(row), reduced);
    }
  }
}

TEST(CandidatesTest, PLessKnowsSquaresAtTemperature1) {
  ExpectNeedsRow({.temperature = 0.9, .p_less = true}, SortedRow(), 300);
  const Params params{
      .temperature = 0.9, .p_less = true, .chain = {Filter::kTemperature, Filter::kPLess}};
  ExpectNeedsRow(params, SortedRow(), 300);
}

TEST(CandidatesTest, CompleteCandidatesAreTheRow) {
  Row row = SortedRow();
  Reduced all = Reduce(row, kVocab);
  all.summary = {};
  ExpectDecided({.return_kept = true}, InputOf(row), all);
  for (size_t i = 50; i < kVocab; ++i) row[i] = -kInf;
  Reduced finite = Reduce(row, 51);
  finite.summary = {};
  ExpectDecided({.temperature = 0, .return_kept = true}, InputOf(row), finite);
  Params params{.typical_p = 0.9, .logprobs = LogprobMode::kRaw, .top_logprobs = 60};
  ExpectDecided(params, InputOf(row), finite);
  ExpectNeedsRow({}, InputOf(row), Reduce(row, 50));

  const Row masked(10, -kInf);
  EXPECT_EQ(Sampled({}, InputOf(masked), Reduce(masked, 3)).error, RowErrorCode::kNoCandidate);
}

TEST(CandidatesTest, Logprobs) {
  const Row row = SortedRow();
  Params params{.top_k = 5, .logprobs = LogprobMode::kRaw, .top_logprobs = 19};
  ExpectDecided(params, row, 20);
  params.logprob_ids = {3, 18, 19};
  ExpectDecided(params, row, 20);
  params.logprob_ids = {20};
  ExpectNeedsRow(params, row, 20);
  params.logprob_ids = {};
  params.top_logprobs = 20;
  ExpectNeedsRow(params, row, 20);
  params.top_logprobs = kVocab;
  ExpectNeedsRow(params, row, 20);
  // Of the survivors all is known.
  params.logprobs = LogprobMode::kProcessed;
  params.logprob_ids = {20, 3};
  ExpectDecided(params, row, 20);
  Reduced reduced = Reduce(row, 20);
  reduced.summary.log_sum_exp.reset();  // kept_mass
  ExpectNeedsRow(params, InputOf(row), reduced);
}

// Beside logits of 1e10 a float64 has too few digits for the sum of the row as it came.
TEST(CandidatesTest, RawLogprobsOfLargeLogits) {
  const Row row(5, 1e10f);
  Params params{.top_k = 1, .logit_bias = {{0, 2048}}, .logprobs = LogprobMode::kProcessed};
  ExpectDecided(params, row, 3);
  params.logprobs = LogprobMode::kRaw;
  ExpectNeedsRow(params, row, 3);
}

}  // namespace
}  // namespace tokendraw::sampling
