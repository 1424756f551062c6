#include <bit>

#include "sampling/filters.h"
#include "tests/sampling/testing.h"

namespace tokendraw::sampling {
namespace {

std::vector<double> Tempered(const Row& row, double temperature) {
  Survivors support(row);
  ApplyTemperature(temperature, support);
  return ValuesOf(support);
}

TEST(TemperatureTest, DividesRelativeToTheLargest) {
  struct Case {
    const char* name;
    Row row;
    double temperature;
    std::vector<double> expected;
  };
  for (const Case& c : std::vector<Case>{
           {"one half", {3, 2, 1}, 0.5, {0, -2, -4}},
           {"two", {1, 3, -1}, 2, {-1, 0, -2}},
           {"just below one", {1, 2}, 0.5, {-2, 0}},
           {"one is off and shifts nothing", {3, 2, 1}, 1, {3, 2, 1}},
           {"masked tokens are gone", {3, -kInf, 1}, 0.5, {0, -4}},
           {"largest finite logits", {3e38f, -3e38f}, 1e38, {0, -(2.0 * 3e38f) / 1e38}},
           {"all equal", {7, 7}, 1e-300, {0, 0}},
       }) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(Tempered(c.row, c.temperature), c.expected);
  }
}

TEST(TemperatureTest, OneLeavesEveryBit) {
  const Row row = GaussianRow(100, 5, 3);
  const std::vector<double> tempered = Tempered(row, 1.0);
  for (size_t i = 0; i < row.size(); ++i) {
    EXPECT_EQ(std::bit_cast<uint64_t>(tempered[i]), std::bit_cast<uint64_t>(double{row[i]}));
  }
}

TEST(TemperatureTest, ProbabilitiesFollow) {
  EXPECT_THAT(Probabilities(Params{.temperature = 0.5}, Row{1, 0}), NearEach({0.8808, 0.1192}));
  EXPECT_THAT(Probabilities(Params{.temperature = 1.0}, Row{1, 0}), NearEach({0.7311, 0.2689}));
  EXPECT_THAT(Probabilities(Params{.temperature = 2.0}, Row{1, 0}), NearEach({0.6225, 0.3775}));
  EXPECT_THAT(Probabilities(Params{.temperature = 1e300}, Row{1, 0}), NearEach({0.5, 0.5}));
}

// Nothing between 0 and 1 is snapped to greedy: at T = 1e-5 a difference of 1e-5 is one nat.
TEST(TemperatureTest, NoTemperatureOverflowsOrSnaps) {
  for (const double temperature : {1e-308, 1e-100, 1e-37, 1e-5, 0.01}) {
    SCOPED_TRACE(temperature);
    EXPECT_THAT(Probabilities(Params{.temperature = temperature}, Row{300, 301, -3e38f, 3e2f}),
                NearEach({0, 1, 0, 0}, 1e-9));
    EXPECT_THAT(Probabilities(Params{.temperature = temperature}, Row{4, 4}),
                NearEach({0.5, 0.5}, 1e-9));
  }
  EXPECT_THAT(Probabilities(Params{.temperature = 0x1p-17}, Row{8, 8 - 0x1p-17f}),
              NearEach({0.7311, 0.2689}));
}

// Statistics over the tempered row stay numbers however far apart its tokens are.
TEST(TemperatureTest, LaterFiltersSeeFiniteLogits) {
  const Row row = {300, 301, -3e38f, 300};
  for (const double temperature : {5e-324, 1e-308, 1e-100}) {
    Params params{.temperature = temperature, .chain = {Filter::kTemperature}};
    EXPECT_EQ(KeptIds(params, row), FirstIds(4));
    Survivors support(row);
    ApplyTemperature(temperature, support);
    for (const double value : ValuesOf(support)) EXPECT_TRUE(std::isfinite(value));
    EXPECT_EQ(support.SumExp(), 1.0);
    EXPECT_TRUE(std::isfinite(support.Mean()));
    params.typical_p = 0.9;
    params.top_n_sigma = 0.5;
    params.chain = {Filter::kTemperature, Filter::kTypicalP};
    EXPECT_EQ(KeptIds(params, row), IdList{1});
    params.chain = {Filter::kTemperature, Filter::kTopNSigma};
    EXPECT_EQ(KeptIds(params, Row{1, 2}), IdList{1});
  }
}

TEST(TemperatureTest, ANewRowIsNotTempered) {
  Survivors support({1, 2});
  EXPECT_FALSE(support.tempered());
  ApplyTemperature(0.5, support);
  EXPECT_TRUE(support.tempered());
  FloatRow another;
  const Row row = {1, 2};
  another.Read(InputOf(row).logits, nullptr, {}, {});
  support.Reset(another);
  EXPECT_FALSE(support.tempered());
}

TEST(TemperatureTest, ZeroIsGreedyAndNoFilterRuns) {
  const Params params{
      .temperature = 0, .top_k = 1, .typical_p = 0.01, .xtc_probability = 1, .xtc_threshold = 0.01};
  for (const double zero : {0.0, -0.0}) {
    Params greedy = params;
    greedy.temperature = zero;
    greedy.top_k = 0;
    for (uint64_t seed = 0; seed < 20; ++seed) {
      EXPECT_EQ(TokenOf(greedy, {1, 2, 2, 1.5f}, {seed}), 1);
    }
    EXPECT_EQ(KeptIds(greedy, Row{1, 2, 2, 1.5f}), (IdList{0, 1, 2, 3}));
  }
  EXPECT_EQ(KeptIds(params, Row{1, 2, 2, 1.5f}).size(), 4u);
}

// A chain that does not name it draws from the row as it is; temperature 0 is greedy all the same.
TEST(TemperatureTest, RunsOnlyWhereTheChainNamesIt) {
  EXPECT_THAT(Probabilities(Params{.temperature = 0.5, .chain = {}}, Row{1, 0}),
              NearEach({0.7311, 0.2689}));
  EXPECT_EQ(TokenOf(Params{.temperature = 0, .chain = {}}, {1, 4, 0}), 1);
}

// What changes here is not which tokens are left but how likely they are.
TEST(TemperatureTest, ChangesLargeRow) {
  const Row row = PeakedRow(kLargeVocab, 5);
  const auto plain = Probabilities(Params{}, row);
  const auto tempered = Probabilities(Params{.temperature = 0.5}, row);
  const auto top = std::max_element(plain.begin(), plain.end()) - plain.begin();
  double sum = 0;
  for (double p : plain) sum += p * p;
  EXPECT_NEAR(tempered[top], plain[top] * plain[top] / sum, 1e-6);
  EXPECT_GT(tempered[top], 1.2 * plain[top]);
}

}  // namespace
}  // namespace tokendraw::sampling
