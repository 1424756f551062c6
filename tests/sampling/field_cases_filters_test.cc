// Faults of other samplers, seen in public issue trackers, that must not be ours: the filters.
// Each test has the number of its case.
#include <limits>

#include "tests/sampling/testing.h"

namespace tokendraw::sampling {
namespace {

TEST(FieldCases, S01_SmallTemperatureNeitherOverflowsNorSnapsToGreedy) {
  // 2.875, 2.955, 11.0625, -2.447 in float16.
  const uint16_t halves[] = {0x41c0, 0x41e9, 0x4988, 0xc0e5};
  const RowInput half_row{.logits = {halves, DataType::kF16, 4}};
  EXPECT_THAT(Probabilities({.temperature = 1e-5}, half_row), NearEach({0, 0, 1, 0}, 0));
  EXPECT_EQ(DrawOf({.temperature = 1e-5}, half_row).token_id, 2);
  EXPECT_THAT(Probabilities({.temperature = 1e-37}, Row{300, 299}), NearEach({1, 0}, 0));
  EXPECT_EQ(TokenOf({.temperature = 1e-37}, {300, 299}), 0);
  EXPECT_THAT(Probabilities({.temperature = 1e-5}, Row{10.0f, 9.99999f}),
              NearEach({0.7219, 0.2781}));
}

TEST(FieldCases, S13_TopPBoundaryKeepsTwo) {
  const float ln2 = std::log(2.0f);
  const Row row = {0, -ln2, -2 * ln2, -2 * ln2};
  EXPECT_THAT(Probabilities({.top_p = 0.75}, row), NearEach({0.6667, 0.3333, 0, 0}));
}

TEST(FieldCases, S17_TopKOneThenTopPKeepsTheFirst) {
  const Row row = LogitsOf({0.19, 0.09, 0.09, 0.09, 0.09, 0.09, 0.09, 0.09, 0.09, 0.09});
  const Params params{.top_k = 1, .top_p = 0.8};
  EXPECT_EQ(TokenOf(params, row), 0);
  EXPECT_THAT(Probabilities(params, row), NearEach({1, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 0));
}

TEST(FieldCases, S19_TopKIsRenormalisedBeforeTopP) {
  const Row row = LogitsOf({0.1, 0.2, 0.3, 0.4});
  Params params{.top_k = 2, .top_p = 0.5};
  EXPECT_THAT(Probabilities(params, row), NearEach({0, 0, 0, 1}, 0));
  params.chain = {Filter::kTopP, Filter::kTopK};
  EXPECT_THAT(Probabilities(params, row), NearEach({0, 0, 0.4286, 0.5714}));
}

TEST(FieldCases, S20_TemperatureRunsBeforeTopPAndMinP) {
  Params top_p{.temperature = 0.5, .top_p = 0.8}, min_p{.temperature = 2, .min_p = 0.2};
  EXPECT_THAT(Probabilities(top_p, Row{3, 2, 1}), NearEach({1, 0, 0}, 0));
  EXPECT_THAT(Probabilities(min_p, Row{0, -2}), NearEach({0.7311, 0.2689}));
  top_p.chain = min_p.chain = {Filter::kTopK, Filter::kTopP, Filter::kMinP, Filter::kTemperature};
  EXPECT_THAT(Probabilities(top_p, Row{3, 2, 1}), NearEach({0.8808, 0.1192, 0}));
  EXPECT_THAT(Probabilities(min_p, Row{0, -2}), NearEach({1, 0}, 0));
}

TEST(FieldCases, S22_TypicalPWithMinKeepZeroKeepsOne) {
  const Params params{.typical_p = 1e-9, .min_keep = 0};
  EXPECT_TRUE(BrokenRules(params).empty());
  EXPECT_THAT(Probabilities(params, LogitsOf({0.6, 0.3, 0.1})), NearEach({0, 1, 0}, 0));
}

TEST(FieldCases, S24_TypicalPDoesNotReorderTheRowForLaterSteps) {
  const Row row = LogitsOf({0.6, 0.3, 0.1});
  EXPECT_EQ(KeptIds({.typical_p = 0.95}, row), FirstIds(3));
  EXPECT_EQ(TokenOf({.temperature = 1e-4, .typical_p = 0.95}, row), 0);
  EXPECT_EQ(TokenOf({.top_k = 1, .typical_p = 0.95}, row), 0);
  Params params{.typical_p = 0.95, .logprobs = LogprobMode::kProcessed, .top_logprobs = 1};
  const Draw draw = DrawOf(params, InputOf(row));
  ASSERT_EQ(draw.top_logprobs.size(), 1u);
  EXPECT_EQ(draw.top_logprobs[0].token_id, 0);
}

TEST(FieldCases, S26_PLessKeepsTiesWithTheLargest) {
  const Params params{.p_less = true};
  EXPECT_THAT(Probabilities(params, Row{0, 0, 0}), NearEach({0.3333, 0.3333, 0.3333}));
  for (const size_t size : {32000u, 129280u}) {
    EXPECT_EQ(KeptIds(params, Row(size, 0.0f)).size(), size);
    EXPECT_NEAR(Probabilities(params, Row(size, 0.0f))[1] * static_cast<double>(size), 1, 1e-5);
  }
  EXPECT_THAT(Probabilities(params, LogitsOf({0.4, 0.35, 0.25})), NearEach({0.5333, 0.4667, 0}));
  EXPECT_THAT(Probabilities(params, LogitsOf({0.5, 0.3, 0.2})), NearEach({1, 0, 0}, 0));
}

TEST(FieldCases, S27_AbsentXtcThresholdIsOneTenthAndZeroIsAnError) {
  EXPECT_THAT(Probabilities({.xtc_probability = 1}, LogitsOf({0.7, 0.2, 0.06, 0.04})),
              NearEach({0, 0.6667, 0.2, 0.1333}));
  const auto broken = BrokenRules({.xtc_probability = 1, .xtc_threshold = 0});
  ASSERT_EQ(broken.size(), 1u);
  EXPECT_STREQ(broken[0]->name, "xtc_threshold");
}

TEST(FieldCases, S28_XtcKeepsTheLeastProbableAbove) {
  const Row row = {4, 3, 2, -10, -10};
  EXPECT_THAT(Probabilities({.xtc_probability = 1, .xtc_threshold = 0.1}, row),
              NearEach({0, 0.7311, 0.2689, 1.65e-6, 1.65e-6}));
  EXPECT_EQ(KeptIds({.xtc_probability = 1, .xtc_threshold = 0.6}, row), FirstIds(5));
  EXPECT_EQ(KeptIds({.xtc_probability = 1, .xtc_threshold = 0.3}, row), FirstIds(5));
}

TEST(FieldCases, S30_XtcNeverRemovesProtectedTokens) {
  const Row row = LogitsOf({0.5, 0.3, 0.2});
  Params params{.xtc_probability = 1, .xtc_threshold = 0.1};
  EXPECT_THAT(Probabilities(params, row), NearEach({0, 0, 1}, 0));
  params.xtc_protected_ids = {0};
  EXPECT_THAT(Probabilities(params, row), NearEach({0.7143, 0, 0.2857}));
}

TEST(FieldCases, S31_XtcActsAlikeOnOneRowManyRowsAndManySteps) {
  const Row row = LogitsOf({0.7, 0.2, 0.1});
  const Params params{.xtc_probability = 1, .xtc_threshold = 0.15};
  EXPECT_THAT(Probabilities(params, row), NearEach({0, 0.6667, 0.3333}));
  Sampler sampler;
  for (uint64_t i = 0; i < 8; ++i) {
    EXPECT_NE(sampler.Sample(params, InputOf(row, {.seed = i})).draws.at(0).token_id, 0);
    EXPECT_NE(sampler.Sample(params, InputOf(row, {.position = i})).draws.at(0).token_id, 0);
  }
  RowInput input = InputOf(row);
  input.sample_count = 8;
  for (const Draw& draw : DrawsOf(params, input)) EXPECT_NE(draw.token_id, 0);
}

TEST(FieldCases, S35_MinPOneKeepsTiesAndMoreIsAnError) {
  EXPECT_THAT(Probabilities({.min_p = 1}, Row{2, 2, 1}), NearEach({0.5, 0.5, 0}));
  for (const double value : {1.5, -0.1}) {
    const auto broken = BrokenRules({.min_p = value});
    ASSERT_EQ(broken.size(), 1u);
    EXPECT_STREQ(broken[0]->text, "min_p must be in [0.0, 1.0]");
  }
}

TEST(FieldCases, S49_TopKAboveTheVocabularyIsOff) {
  const Row row = {0, 1, 2, 3};
  for (const int32_t top_k : {9999999, std::numeric_limits<int32_t>::max(), 0}) {
    EXPECT_THAT(Probabilities({.top_k = top_k}, row), NearEach({0.0321, 0.0871, 0.2369, 0.6439}));
  }
  const auto broken = BrokenRules({.top_k = -1});
  ASSERT_EQ(broken.size(), 1u);
  EXPECT_STREQ(broken[0]->text, "top_k must be >= 0");
  Sampler sampler;
  EXPECT_EQ(sampler.Sample({.top_k = 0, .return_kept = true}, InputOf(row)).draws[0].kept_count, 4);
  EXPECT_EQ(sampler.Sample({.top_k = 2, .return_kept = true}, InputOf(row)).draws[0].kept_count, 2);
  EXPECT_THAT(Probabilities({.top_k = 2}, row), NearEach({0, 0, 0.2689, 0.7311}));
}

TEST(FieldCases, S75_GreedySkipsTheFiltersAndASmallTemperatureDoesNot) {
  const Row row = LogitsOf({0.6, 0.3, 0.1});
  EXPECT_EQ(TokenOf({.temperature = 0, .typical_p = 0.2}, row), 0);
  EXPECT_EQ(TokenOf({.temperature = 1e-6, .typical_p = 0.2}, row), 1);
  EXPECT_THAT(Probabilities({.temperature = 0, .typical_p = 0.2}, row), NearEach({0.6, 0.3, 0.1}));
  const Row other = LogitsOf({0.7, 0.2, 0.1});
  const Params xtc{.temperature = 0, .xtc_probability = 1, .xtc_threshold = 0.15};
  EXPECT_EQ(TokenOf(xtc, other), 0);
  EXPECT_THAT(Probabilities(xtc, other), NearEach({0.7, 0.2, 0.1}));
}

}  // namespace
}  // namespace tokendraw::sampling
