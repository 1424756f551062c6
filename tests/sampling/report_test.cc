#include "sampling/report.h"

#include <algorithm>

#include "tests/sampling/testing.h"

namespace tokendraw::sampling {
namespace {

const Params kRaw{.logprobs = LogprobMode::kRaw};
const Params kProcessed{.logprobs = LogprobMode::kProcessed};

IdList TopIds(const Draw& draw) {
  IdList ids;
  for (const TokenLogprob& entry : draw.top_logprobs) ids.push_back(entry.token_id);
  return ids;
}

double Sum(const std::vector<double>& p) {
  double sum = 0;
  for (double value : p) sum += value;
  return sum;
}

TEST(ReportTest, RawIsTheRowAsItCame) {
  const Row row = {2, 1, 0};
  const std::vector<double> expected = {0.6652, 0.2447, 0.0900};
  const std::vector<std::byte> mask = {std::byte{6}, {}, {}, {}};
  const IdList history = {1, 1};
  RowInput input = InputOf(row);
  input.allowed_mask = mask;
  input.history.output_ids = history;
  for (Params params :
       {Params{}, Params{.temperature = 0.5}, Params{.temperature = 0}, Params{.top_k = 2},
        Params{.repetition_penalty = 2, .logit_bias = {{2, 9}}}, Params{.top_p = 0.01}}) {
    EXPECT_THAT(Probabilities(params, row, LogprobMode::kRaw), NearEach(expected));
    EXPECT_THAT(Probabilities(params, input, LogprobMode::kRaw), NearEach(expected));
  }
}

TEST(ReportTest, ProcessedIsWhatTheDrawWasMadeFrom) {
  const Row row = {2, 1, 0};
  EXPECT_THAT(Probabilities({}, row), NearEach({0.6652, 0.2447, 0.0900}));
  EXPECT_THAT(Probabilities({.temperature = 0.5}, row), NearEach({0.8668, 0.1173, 0.0159}));
  EXPECT_THAT(Probabilities({.top_k = 2}, row), NearEach({0.7311, 0.2689, 0}));
  EXPECT_THAT(Probabilities({.logit_bias = {{0, -kInf}}}, row), NearEach({0, 0.7311, 0.2689}));
  // Greedy: of the row after the penalties, or of the one token that top_k 1 keeps.
  EXPECT_THAT(Probabilities({.temperature = 0, .logit_bias = {{0, -1}}}, row),
              NearEach({0.4223, 0.4223, 0.1554}));
  EXPECT_THAT(Probabilities({.top_k = 1}, row), NearEach({1, 0, 0}));
}

TEST(ReportTest, BothModesSumToOne) {
  for (uint32_t seed = 0; seed < 50; ++seed) {
    const Row row = GaussianRow(seed + 1, 3, seed);
    const Params params{.temperature = 0.7, .top_p = 0.9, .xtc_probability = 0.5};
    for (const auto mode : {LogprobMode::kRaw, LogprobMode::kProcessed}) {
      const std::vector<double> p = Probabilities(params, row, mode);
      EXPECT_NEAR(Sum(p), 1, 1e-5);
      for (double value : p) EXPECT_LE(value, 1);
    }
  }
}

TEST(ReportTest, LogprobsAreAccurateToFloat32) {
  const Row row = GaussianRow(1000, 4, 2);
  double sum = 0;
  for (float x : row) sum += std::exp(double{x});
  Params params = kRaw;
  params.top_logprobs = 1000;
  const Draw draw = DrawOf(params, InputOf(row));
  ASSERT_EQ(draw.top_logprobs.size(), 1000u);
  for (const TokenLogprob& entry : draw.top_logprobs) {
    const double expected = double{row[entry.token_id]} - std::log(sum);
    EXPECT_NEAR(entry.logprob, expected, 1e-6 * std::abs(expected));
    EXPECT_TRUE(entry.token_id != draw.token_id || entry.logprob == draw.logprob);
  }
}

TEST(ReportTest, TopIsHighestFirstAndTiesLowestIdFirst) {
  const Row row = {1, 3, 2, 3, 2, -kInf};
  Params params = kRaw;
  const std::vector<IdList> expected = {{}, {1}, {1, 3}, {1, 3, 2}, {1, 3, 2, 4}, {1, 3, 2, 4, 0}};
  for (size_t count = 0; count < expected.size(); ++count) {
    params.top_logprobs = static_cast<int32_t>(count);
    EXPECT_EQ(TopIds(DrawOf(params, InputOf(row))), expected[count]);
  }
}

TEST(ReportTest, MoreThanThereAreGivesWhatThereIs) {
  Params params = kProcessed;
  params.top_logprobs = 2147483647;
  EXPECT_EQ(TopIds(DrawOf(params, InputOf(Row{0, 1, 2, 3}))), (IdList{3, 2, 1, 0}));
  params.top_k = 2;
  EXPECT_EQ(TopIds(DrawOf(params, InputOf(Row{0, 1, 2, 3}))), (IdList{3, 2}));
}

TEST(ReportTest, RequestedIdsComeInTheirOrderAndOnlyIfTheyAreLeft) {
  const Row row = {0, 0, -kInf, 0, 5};
  Params params = kRaw;
  params.logprob_ids = {3, 2, 0, 3};
  const auto ids = [&] {
    IdList result;
    for (const auto& entry : DrawOf(params, InputOf(row)).requested_logprobs) {
      result.push_back(entry.token_id);
    }
    return result;
  };
  EXPECT_EQ(ids(), (IdList{3, 0, 3}));
  params.top_k = 2;  // removes them from the draw, not from the row as it came
  EXPECT_EQ(ids(), (IdList{3, 0, 3}));
  params.logprobs = LogprobMode::kProcessed;
  EXPECT_EQ(ids(), IdList{0});
}

TEST(ReportTest, RequestedValues) {
  Params params = kRaw;
  params.logprob_ids = {1};
  const Draw draw = DrawOf(params, InputOf(Row{0, 0}));
  ASSERT_EQ(draw.requested_logprobs.size(), 1u);
  EXPECT_FLOAT_EQ(draw.requested_logprobs[0].logprob, -0.693147f);
  EXPECT_TRUE(draw.top_logprobs.empty());
}

TEST(ReportTest, KeptMassIsUnderTheRowAfterTheEdits) {
  const auto mass = [](Params params, const Row& row) {
    params.return_kept = true;
    return DrawOf(params, InputOf(row)).kept_mass;
  };
  const Row row = LogitsOf({0.4, 0.3, 0.2, 0.1});
  EXPECT_EQ(mass({}, row), 1);
  EXPECT_NEAR(mass({.top_k = 2}, row), 0.7, 1e-7);
  EXPECT_NEAR(mass({.top_k = 1}, row), 0.4, 1e-7);
  EXPECT_EQ(mass({.temperature = 0}, row), 1);
  // Untempered, and without the banned token: 0.3 / 0.6.
  EXPECT_NEAR(mass({.temperature = 0.1, .top_k = 1, .logit_bias = {{0, -kInf}}}, row), 0.5, 1e-7);
  EXPECT_NEAR(mass({.temperature = 0.1, .top_k = 2}, row), 0.7, 1e-7);
  EXPECT_NEAR(mass({.xtc_probability = 1, .xtc_threshold = 0.15}, row), 0.3, 1e-7);
}

TEST(ReportTest, KeptIdsAscendAndCountAgrees) {
  Params params{.top_k = 3, .return_kept = true};
  Draw draw = DrawOf(params, InputOf(Row{0, 5, 1, 9, 2}));
  EXPECT_EQ(draw.kept_ids, (IdList{1, 3, 4}));
  EXPECT_EQ(draw.kept_count, 3);
  params.return_kept = false;
  params.logprobs = LogprobMode::kRaw;
  draw = DrawOf(params, InputOf(Row{0, 5, 1, 9, 2}));
  EXPECT_TRUE(draw.kept_ids.empty());
  EXPECT_EQ(draw.kept_count, 3);
  EXPECT_TRUE(draw.top_logprobs.empty());
}

TEST(ReportTest, FlagsOfTheDraw) {
  const Row row = {0, 0};
  const auto draw = [&](Params params) {
    params.return_kept = true;
    return DrawOf(params, InputOf(row));
  };
  EXPECT_FALSE(draw({}).greedy);
  EXPECT_TRUE(draw({.temperature = 0}).greedy);
  EXPECT_TRUE(draw({.top_k = 1}).greedy);
  EXPECT_FALSE(draw({}).xtc_applied);
  EXPECT_TRUE(draw({.xtc_probability = 1}).xtc_applied);
  EXPECT_FALSE(draw({.xtc_probability = 1, .xtc_threshold = 0.6}).xtc_applied);
  EXPECT_FALSE(draw({.temperature = 0, .xtc_probability = 1}).xtc_applied);
}

TEST(ReportTest, EachDrawReportsItsOwnOutcome) {
  const Row row = LogitsOf({0.4, 0.3, 0.2, 0.1});
  RowInput input = InputOf(row, {.seed = 2});
  input.sample_count = 100;
  Params params{.xtc_probability = 0.5, .xtc_threshold = 0.15, .return_kept = true};
  params.logprobs = LogprobMode::kProcessed;
  int applied = 0;
  for (const Draw& draw : DrawsOf(params, input)) {
    applied += draw.xtc_applied;
    EXPECT_EQ(draw.kept_ids, draw.xtc_applied ? (IdList{2, 3}) : FirstIds(4));
    EXPECT_TRUE(std::binary_search(draw.kept_ids.begin(), draw.kept_ids.end(), draw.token_id));
    const double scale = draw.xtc_applied ? 0.3 : 1;
    EXPECT_NEAR(draw.logprob, row[draw.token_id] - std::log(scale), 1e-6);
  }
  EXPECT_GT(applied, 20);
  EXPECT_LT(applied, 80);
}

TEST(ReportTest, NothingIsFilledUnlessAskedFor) {
  const Draw draw = DrawOf({.top_k = 1, .top_logprobs = 3}, InputOf(Row{1, 2}));
  EXPECT_EQ(draw.token_id, 1);
  EXPECT_TRUE(draw.top_logprobs.empty());
  EXPECT_TRUE(draw.kept_ids.empty());
  EXPECT_EQ(draw.kept_count, 0);
}

// Summed in another order, the mass of nearly all tokens can round to more than the whole.
TEST(ReportTest, KeptMassIsAtMostOne) {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    Row row = GaussianRow(100, 1, seed);
    for (size_t i = 0; i < row.size(); i += 3) row[i] = -800;
    const Params params{.min_p = 1e-12, .return_kept = true};
    EXPECT_LE(DrawOf(params, InputOf(row)).kept_mass, 1.0) << seed;
  }
}

// A detail always tells the drawn token's: 0 would read as "certain".
TEST(ReportTest, WithoutAModeTheLogprobIsRaw) {
  const Row row = {2, 1, 0};
  const Draw draw = DrawOf({.top_k = 1, .return_kept = true}, InputOf(row));
  EXPECT_NEAR(draw.logprob, -0.4076, 5e-5);
  EXPECT_THAT(draw.top_logprobs, testing::IsEmpty());
}

TEST(ReportTest, ASurvivorHasAFiniteLogprob) {
  const Row row = {-3e38f, 3e38f};
  const Params params{.logprobs = LogprobMode::kRaw, .top_logprobs = 2};
  const Draw draw = DrawOf(params, InputOf(row));
  ASSERT_EQ(draw.top_logprobs.size(), 2u);
  EXPECT_EQ(draw.top_logprobs[1].logprob, std::numeric_limits<float>::lowest());
}

}  // namespace
}  // namespace tokendraw::sampling
