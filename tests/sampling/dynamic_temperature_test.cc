#include "sampling/filters.h"
#include "tests/sampling/testing.h"

namespace tokendraw::sampling {
namespace {

std::vector<double> ProbabilitiesAt(const Row& row, double temperature, double range,
                                    double exponent = 1) {
  return Probabilities(
      {.temperature = temperature, .dynatemp_range = range, .dynatemp_exponent = exponent}, row);
}

// Vectors measured with llama.cpp.
TEST(DynamicTemperatureTest, GoesByTheEntropy) {
  const Row row = LogitsOf({0.5, 0.25, 0.125, 0.125});  // H / ln 4 = 0.875
  EXPECT_THAT(ProbabilitiesAt(row, 1, 0.5), NearEach({0.428489, 0.258826, 0.156343, 0.156343}));
  // Temperature 0 with a range is no greedy exit: 0.875 * 0.5.
  EXPECT_THAT(ProbabilitiesAt(row, 0, 0.5), NearEach({0.775673, 0.159078, 0.032624, 0.032624}));
  EXPECT_THAT(ProbabilitiesAt(row, 1, 0), NearEach({0.5, 0.25, 0.125, 0.125}));
}

TEST(DynamicTemperatureTest, TheExponentBendsTheShare) {
  // 0.5 + 1 * 0.875^2 = 1.265625.
  const Row row = LogitsOf({0.5, 0.25, 0.125, 0.125});
  EXPECT_THAT(ProbabilitiesAt(row, 1, 0.5, 2),
              NearEach(Probabilities({.temperature = 1.265625}, row), 1e-6));
}

TEST(DynamicTemperatureTest, MaskedTokensDoNotCount) {
  const Row row = LogitsOf({0.5, 0.25, 0.125, 0.125});
  Row masked = row;
  masked.push_back(-kInf);
  const std::vector<double> p = ProbabilitiesAt(masked, 1, 0.5);
  EXPECT_THAT(p, NearEach({0.428489, 0.258826, 0.156343, 0.156343, 0}));
}

TEST(DynamicTemperatureTest, Edges) {
  EXPECT_THAT(ProbabilitiesAt({3}, 1, 0.5), NearEach({1}));
  // A flat row gets all of the range: H / ln n = 1.
  EXPECT_THAT(ProbabilitiesAt({2, 2}, 0.1, 1), NearEach({0.5, 0.5}));
  // No entropy at all, and so temperature 0: the first alone.
  Params params{.temperature = 0.5, .dynatemp_range = 1};
  EXPECT_EQ(KeptIds(params, Row{1000, 0, -500}), FirstIds(1));
  params.temperature = 1.5;  // no less than 0.5
  EXPECT_EQ(KeptIds(params, Row{1000, 0, -500}), FirstIds(3));
}

TEST(DynamicTemperatureTest, AgreesWithTheOracleOnALargeRow) {
  const Row row = PeakedRow(kLargeVocab, 5);
  const Params params{.temperature = 0.8, .top_p = 0.9, .dynatemp_range = 0.5};
  const oracle::OracleDraw expected = oracle::Sample(params, InputOf(row)).draws.front();
  ASSERT_TRUE(expected.IsCertain());
  EXPECT_EQ(KeptIds(params, row), expected.kept_ids);
  EXPECT_EQ(TokenOf(params, row), expected.token_id);
}

}  // namespace
}  // namespace tokendraw::sampling
