#include "sampling/filters.h"
#include "tests/sampling/testing.h"

namespace tokendraw::sampling {
namespace {

std::vector<double> Smoothed(const Row& row, double factor, double curve) {
  Survivors support(row);
  ApplySmoothing(factor, curve, support);
  return ValuesOf(support);
}

TEST(SmoothingTest, BendsDistancesToTheLargest) {
  using testing::ElementsAre;
  const Row row = {2, 1, 0, -1};
  EXPECT_THAT(Smoothed(row, 0, 2), ElementsAre(2, 1, 0, -1));
  EXPECT_THAT(Smoothed(row, 0.5, 1), ElementsAre(0, -0.5, -2, -4.5));
  EXPECT_THAT(Smoothed(row, 0.5, 2), ElementsAre(0, -0.5, -3, -9));
  EXPECT_THAT(Smoothed(row, 1, 3), ElementsAre(0, -1, -8, -27));
  EXPECT_THAT(Smoothed({-kInf, 1, 3}, 0.5, 1), ElementsAre(-2, 0));
}

TEST(SmoothingTest, SurvivorsStaySurvivors) {
  const Row row = {3e38f, -3e38f, 0};
  for (const double curve : {1.0, 2.0, 3.0}) {
    EXPECT_EQ(Smoothed(row, 1e300, curve).size(), 3u);
    const Params params{.temperature = 1e-300, .smoothing_factor = 1e300, .smoothing_curve = curve};
    EXPECT_EQ(KeptIds(params, row), FirstIds(3));
    EXPECT_EQ(TokenOf(params, row), 0);
  }
}

TEST(SmoothingTest, ComesAfterTheTemperature) {
  // Tempered by 0.5: -2; smoothed: -0.3 * 4 = -1.2.
  const Params params{.temperature = 0.5, .smoothing_factor = 0.3};
  const double e = std::exp(-1.2);
  EXPECT_THAT(Probabilities(params, Row{1, 0}), NearEach({1 / (1 + e), e / (1 + e)}));
}

// What is kept is reported of the row as it was before.
TEST(SmoothingTest, TheKeptMassIsThatOfTheRow) {
  const Row row = LogitsOf({0.4, 0.3, 0.2, 0.1});
  const Params params{.top_k = 2, .smoothing_factor = 2, .return_kept = true};
  const Draw draw = DrawOf(params, InputOf(row));
  EXPECT_EQ(draw.kept_ids, (IdList{0, 1}));
  EXPECT_NEAR(draw.kept_mass, 0.7, 1e-6);
}

}  // namespace
}  // namespace tokendraw::sampling
