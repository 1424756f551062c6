#include "sampling/filters.h"
#include "tests/sampling/testing.h"

namespace tokendraw::sampling {
namespace {

// Vectors measured with llama.cpp: target .3, decay .9.
std::vector<double> Drawn(const RowInput& input) {
  return Probabilities({.adaptive_target = 0.3}, input);
}

TEST(AdaptivePTest, PrefersProbabilitiesNearTheTarget) {
  const Row row = LogitsOf({0.5, 0.25, 0.125, 0.125});
  EXPECT_THAT(Drawn(InputOf(row)), NearEach({0.063701, 0.722533, 0.106883, 0.106883}));
}

TEST(AdaptivePTest, TheAimMovesAgainstWhatWasDrawn) {
  const Row row = LogitsOf({0.5, 0.25, 0.125, 0.125});
  const auto shaped = [](double p, double aim) {
    const double d = std::abs(p - aim) / 0.3;
    return 5 - 10 * d * d / (1 + d);
  };
  RowInput input = InputOf(row);
  input.state = {.adaptive_sum = 2.825, .adaptive_weight = 10};  // a = .6 - .2825
  std::vector<double> expected;
  double sum = 0;
  for (const double p : {0.5, 0.25, 0.125, 0.125}) expected.push_back(std::exp(shaped(p, 0.3175)));
  for (const double e : expected) sum += e;
  for (double& e : expected) e /= sum;
  EXPECT_NEAR(shaped(0.5, 0.3175), 2.699051, 1e-6);
  EXPECT_THAT(Drawn(input), NearEach(expected));
}

TEST(AdaptivePTest, TheStateFollowsTheProbabilitiesOfBefore) {
  const std::vector<double> p = {0.5, 0.25, 0.125, 0.125};
  const Row row = LogitsOf(p);
  RowInput input = InputOf(row, {.seed = 8});
  double sum = 3, weight = 10;
  for (uint64_t position = 0; position < 30; ++position) {
    input.key.position = position;
    const Draw draw = DrawOf({.adaptive_target = 0.3}, input);
    sum = p[static_cast<size_t>(draw.token_id)] + 0.9 * sum;
    weight = 1 + 0.9 * weight;
    ASSERT_TRUE(draw.state.adaptive_sum && draw.state.adaptive_weight);
    EXPECT_NEAR(*draw.state.adaptive_sum, sum, 1e-6);
    EXPECT_NEAR(*draw.state.adaptive_weight, weight, 1e-6);
    input.state = draw.state;
  }
}

TEST(AdaptivePTest, KeepsWhatTheChainKeeps) {
  const Row row = LogitsOf({0.5, 0.25, 0.125, 0.125});
  Params params{.top_k = 2, .adaptive_target = 0.01};
  EXPECT_EQ(KeptIds(params, row), FirstIds(2));
  EXPECT_NEAR(
      DrawOf({.top_k = 2, .adaptive_target = 0.01, .return_kept = true}, InputOf(row)).kept_mass,
      0.75, 1e-6);
  EXPECT_THAT(Probabilities(params, row)[2], 0);
}

TEST(AdaptivePTest, IsOffWhereTheChainDoesNotNameIt) {
  const Row row = LogitsOf({0.5, 0.25, 0.125, 0.125});
  const Params params{.adaptive_target = 0.3, .chain = {Filter::kTopP}};
  EXPECT_THAT(Probabilities(params, row), NearEach({0.5, 0.25, 0.125, 0.125}));
}

}  // namespace
}  // namespace tokendraw::sampling
