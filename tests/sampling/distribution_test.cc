// The tokens have the distribution that the row says. Seeds are fixed, so the tests always pass or
// always fail; with other seeds each chi-square check would fail once in a million runs.
#include <map>
#include <numeric>

#include "sampling/noise.h"
#include "tests/sampling/testing.h"

namespace tokendraw::sampling {
namespace {

// Value that chi-square with `degrees` degrees of freedom exceeds with probability 1e-6.
double ChiSquareLimit(int degrees) {
  static const std::map<int, double> kTable = {
      {3, 30.665}, {4, 33.377}, {7, 40.522}, {8, 42.701}, {15, 56.493}};
  return kTable.at(degrees);
}

// Whether counts of tokens fit probabilities `p`. Every bucket must be large enough for the
// chi-square approximation, and every token in a bucket.
bool Fits(const IdList& tokens, const std::vector<double>& p) {
  std::vector<double> counts(p.size());
  for (const int32_t token : tokens) counts.at(static_cast<size_t>(token)) += 1;
  const auto trials = static_cast<double>(tokens.size());
  EXPECT_NEAR(std::accumulate(p.begin(), p.end(), 0.0), 1, 1e-6);
  EXPECT_GE(trials, 8192);
  int buckets = 0;
  double statistic = 0;
  for (size_t i = 0; i < p.size(); ++i) {
    if (p[i] == 0) {
      if (counts[i] > 0) return false;
      continue;
    }
    EXPECT_GE(p[i] * trials, 20);
    statistic += std::pow(counts[i] - p[i] * trials, 2) / (p[i] * trials);
    ++buckets;
  }
  EXPECT_GE(buckets, 2);
  return statistic < ChiSquareLimit(buckets - 1);
}

IdList TokensOf(const std::vector<Draw>& draws) {
  IdList tokens;
  for (const Draw& draw : draws) tokens.push_back(draw.token_id);
  return tokens;
}

IdList TokensBySample(const Params& params, const Row& row, int32_t count, uint64_t seed) {
  RowInput input = InputOf(row, {.seed = seed});
  input.sample_count = count;
  return TokensOf(DrawsOf(params, input));
}

const std::vector<double> kSkewed = {0.35, 0.25, 0.15, 0.1, 0.08, 0.04, 0.02, 0.01};

// The pairs of neighbours in `tokens`, each below 4, as numbers below 16.
IdList Pairs(const IdList& tokens) {
  IdList pairs;
  for (size_t i = 0; i + 1 < tokens.size(); i += 2) pairs.push_back(4 * tokens[i] + tokens[i + 1]);
  return pairs;
}
const std::vector<double> kPairs(16, 1.0 / 16);

TEST(DistributionTest, EqualLogits) {
  EXPECT_TRUE(Fits(TokensBySample({}, Row(16, 2.5f), 65536, 1), std::vector<double>(16, 1.0 / 16)));
}

TEST(DistributionTest, SkewedRowBySampleIndex) {
  EXPECT_TRUE(Fits(TokensBySample({}, LogitsOf(kSkewed), 65536, 2), kSkewed));
}

TEST(DistributionTest, SkewedRowByPosition) {
  IdList tokens;
  for (uint64_t i = 0; i < 40000; ++i) {
    tokens.push_back(TokenOf({}, LogitsOf(kSkewed), {.seed = 3, .position = i}));
  }
  EXPECT_TRUE(Fits(tokens, kSkewed));
}

TEST(DistributionTest, SkewedRowBySeed) {
  IdList tokens;
  for (uint64_t i = 0; i < 40000; ++i) tokens.push_back(TokenOf({}, LogitsOf(kSkewed), {i}));
  EXPECT_TRUE(Fits(tokens, kSkewed));
}

TEST(DistributionTest, ScatteredTokensOfAWiderRow) {
  // Eight likely tokens among 1024; the others are one bucket.
  Row row(1024, static_cast<float>(std::log(0.2 / 1016)));
  for (size_t i = 0; i < 8; ++i) row[(i * 147 + 31) % 1024] = static_cast<float>(std::log(0.1));
  IdList tokens = TokensBySample({}, row, 8192, 4);
  for (int32_t& token : tokens) {
    int32_t bucket = 8;
    for (int32_t i = 0; i < 8; ++i) bucket = token == (i * 147 + 31) % 1024 ? i : bucket;
    token = bucket;
  }
  EXPECT_TRUE(Fits(tokens, {0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.2}));
}

TEST(DistributionTest, TemperatureAndFilters) {
  // p^(1/0.7), of which top_k keeps five.
  std::vector<double> expected(kSkewed.size(), 0.0);
  double sum = 0;
  for (size_t i = 0; i < 5; ++i) sum += expected[i] = std::pow(kSkewed[i], 1 / 0.7);
  for (double& p : expected) p /= sum;
  EXPECT_TRUE(Fits(TokensBySample({.temperature = 0.7, .top_k = 5}, LogitsOf(kSkewed), 65536, 5),
                   expected));
}

TEST(DistributionTest, XtcIsAMixture) {
  // On the coin's side 0.3 of the time: ids 0-2 are above 0.12, id 2 stays.
  std::vector<double> expected = kSkewed;
  for (size_t i = 0; i < expected.size(); ++i) {
    expected[i] = 0.7 * kSkewed[i] + (i < 2 ? 0 : 0.3 * kSkewed[i] / 0.4);
  }
  const Params params{.xtc_probability = 0.3, .xtc_threshold = 0.12};
  EXPECT_TRUE(Fits(TokensBySample(params, LogitsOf(kSkewed), 65536, 6), expected));
}

TEST(DistributionTest, NeighbouringDrawsAreIndependent) {
  const Row row(4, 0.0f);
  EXPECT_TRUE(Fits(Pairs(TokensBySample({}, row, 65536, 7)), kPairs));
  IdList by_position, by_seed;
  for (uint64_t i = 0; i < 40000; ++i) {
    by_position.push_back(TokenOf({}, row, {.seed = 8, .position = i}));
    by_seed.push_back(TokenOf({}, row, {.seed = i, .position = 8}));
  }
  EXPECT_TRUE(Fits(Pairs(by_position), kPairs));
  EXPECT_TRUE(Fits(Pairs(by_seed), kPairs));
}

// The same check turns down samplers that are a little wrong.
TEST(DistributionTest, WrongTemperatureFails) {
  EXPECT_FALSE(Fits(TokensBySample({.temperature = 0.95}, LogitsOf(kSkewed), 65536, 2), kSkewed));
  EXPECT_FALSE(Fits(TokensBySample({.temperature = 1.05}, LogitsOf(kSkewed), 65536, 2), kSkewed));
}

TEST(DistributionTest, ForgettingOneTokenFails) {
  EXPECT_FALSE(Fits(TokensBySample({.top_k = 7}, LogitsOf(kSkewed), 65536, 2), kSkewed));
}

TEST(DistributionTest, NoiseSharedByNeighbouringTokensFails) {
  const Row row = LogitsOf(kSkewed);
  IdList tokens;
  for (int32_t sample = 0; sample < 65536; ++sample) {
    const auto score = [&](int32_t id) {
      return row[static_cast<size_t>(id)] + GumbelNoise({.seed = 2}, sample, id / 2);
    };
    int32_t best = 0;
    for (int32_t id = 1; id < 8; ++id) best = score(id) > score(best) ? id : best;
    tokens.push_back(best);
  }
  EXPECT_FALSE(Fits(tokens, kSkewed));
}

TEST(DistributionTest, DrawsThatRepeatTheirNeighbourFail) {
  IdList tokens = TokensBySample({}, Row(4, 0.0f), 65536, 7);
  for (size_t i = 0; i + 1 < tokens.size(); i += 40) tokens[i + 1] = tokens[i];
  EXPECT_TRUE(Fits(tokens, std::vector<double>(4, 0.25)));  // unseen by the plain check
  EXPECT_FALSE(Fits(Pairs(tokens), kPairs));
}

}  // namespace
}  // namespace tokendraw::sampling
