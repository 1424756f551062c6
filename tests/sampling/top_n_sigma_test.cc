#include "sampling/filters.h"
#include "tests/sampling/testing.h"

namespace tokendraw::sampling {
namespace {

TEST(TopNSigmaTest, KeepsWithinNStandardDeviations) {
  const Row pair = {1, -1};        // sigma exactly 1, distance 2
  const Row spike = {0, 0, 0, 4};  // sigma sqrt(3), distance 4 = 2.3094 sigma
  const Row steps = {3, 0, 1, 2};  // sigma sqrt(1.25) = 1.1180; 0.894 and 1.789 and 2.683 of it
  CheckFilter(Filter::kTopNSigma, &Params::top_n_sigma,
              [](auto value, int32_t min_keep, Support& support) {
                ApplyTopNSigma(value, Sigma::kSurvivors, 100, min_keep, support);
              },
              {
                  {"off", pair, 0, {0, 1}},
                  {"exactly at the cut", pair, 2, {0, 1}},
                  {"just inside", pair, 1.999, {0}},
                  {"just outside", pair, 2.001, {0, 1}},
                  {"population, not sample", pair, 1.5, {0}},
                  {"far token just cut", spike, 2.309, {3}},
                  {"far token just kept", spike, 2.310, {0, 1, 2, 3}},
                  {"first step below", steps, 0.894, {0}},
                  {"first step above", steps, 0.895, {0, 3}},
                  {"second step below", steps, 1.788, {0, 3}},
                  {"second step above", steps, 1.789, {0, 2, 3}},
                  {"third step below", steps, 2.683, {0, 2, 3}},
                  {"third step above", steps, 2.684, {0, 1, 2, 3}},
                  {"all equal", Row(6, 3.25f), 0.001, {0, 1, 2, 3, 4, 5}},
                  {"ties with the largest stay", {5, 1, 5, 0}, 1e-9, {0, 2}},
                  {"huge n", steps, 1e308, {0, 1, 2, 3}},
                  {"masked tokens have no part in sigma", {1, -kInf, -1, -kInf}, 1.999, {0}},
                  {"masked tokens, at the cut", {1, -kInf, -1, -kInf}, 2, {0, 2}},
                  {"min_keep below the cut", steps, 1.789, {0, 2, 3}, 2},
                  {"min_keep above the cut", steps, 0.1, {0, 2, 3}, 3},
                  {"min_keep above V", steps, 0.1, {0, 1, 2, 3}, 7},
                  {"one token", {-2}, 0.5, {0}},
                  {"largest finite logits", {3e38f, 3e38f, -3e38f, -3e38f}, 1.999, {0, 1}},
              });
}

// Adding a constant to the row changes nothing, at any scale.
TEST(TopNSigmaTest, IsShiftInvariant) {
  for (const float shift : {-1e6f, -64.0f, 64.0f, 1e6f}) {
    EXPECT_EQ(KeptIds(Params{.top_n_sigma = 1.788}, Row{3 + shift, shift, 1 + shift, 2 + shift}),
              (IdList{0, 3}));
    EXPECT_EQ(KeptIds(Params{.top_n_sigma = 1.789}, Row{3 + shift, shift, 1 + shift, 2 + shift}),
              (IdList{0, 2, 3}));
  }
}

// Distance and sigma scale alike, so the temperature does not matter.
TEST(TopNSigmaTest, IsScaleInvariant) {
  const Row row = GaussianRow(80, 2, 9);
  const IdList expected = KeptIds(Params{.top_n_sigma = 2.0}, row);
  ASSERT_GT(expected.size(), 1u);
  ASSERT_LT(expected.size(), 80u);
  const Params tempered{
      .temperature = 0.3, .top_n_sigma = 2.0, .chain = {Filter::kTemperature, Filter::kTopNSigma}};
  EXPECT_EQ(KeptIds(tempered, row), expected);
}

TEST(TopNSigmaTest, CutsLargeRow) { ExpectCutsLargeRow({.top_n_sigma = 1.0}); }

}  // namespace
}  // namespace tokendraw::sampling
