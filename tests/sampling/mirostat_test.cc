#include "sampling/filters.h"
#include "tests/sampling/testing.h"

namespace tokendraw::sampling {
namespace {

Row Zipf(size_t size) {
  Row row;
  for (size_t i = 0; i < size; ++i) {
    row.push_back(-1.1f * std::log(static_cast<float>(i + 1)));
  }
  return row;
}

size_t KeptCount(int32_t version, double tau, const Row& row) {
  return KeptIds({.mirostat = version, .mirostat_tau = tau}, row).size();
}

// Vectors measured with llama.cpp, mu = 2 * tau.
TEST(MirostatTest, VersionOneOnAPowerLaw) {
  const std::vector<std::pair<double, size_t>> expected = {{1, 1},   {1.5, 2}, {2, 4},
                                                           {2.5, 8}, {3, 15},  {5, 50}};
  for (const auto& [tau, kept] : expected) EXPECT_EQ(KeptCount(1, tau, Zipf(50)), kept) << tau;
}

TEST(MirostatTest, VersionTwoOnAPowerLaw) {
  const std::vector<std::pair<double, size_t>> expected = {{1, 1},   {1.5, 1}, {2, 3},
                                                           {2.5, 6}, {3, 12},  {5, 50}};
  for (const auto& [tau, kept] : expected) EXPECT_EQ(KeptCount(2, tau, Zipf(50)), kept) << tau;
}

TEST(MirostatTest, VersionTwoCutsBySurprise) {
  const Row row = LogitsOf({0.6, 0.2, 0.1, 0.1});  // 0.737 2.322 3.322 3.322 bits
  const auto kept = [&](double mu) {
    RowInput input = InputOf(row);
    input.state.mirostat_mu = mu;
    return KeptIds({.mirostat = 2}, input);
  };
  EXPECT_EQ(kept(-5), FirstIds(1));
  EXPECT_EQ(kept(2.321), FirstIds(1));
  EXPECT_EQ(kept(2.323), FirstIds(2));
  EXPECT_EQ(kept(3.321), FirstIds(2));
  EXPECT_EQ(kept(3.323), FirstIds(4));
}

TEST(MirostatTest, VersionOneEdges) {
  EXPECT_EQ(KeptCount(1, 5, {3}), 1u);
  EXPECT_EQ(KeptCount(1, 5, Row(30, 1.0f)), 30u);  // 2^10 tokens or more
  EXPECT_EQ(KeptCount(1, 1, Row(30, 1.0f)), 1u);   // 2^2 of 30
  EXPECT_EQ(KeptCount(1, 1e5, Zipf(50)), 50u);
  EXPECT_EQ(KeptIds({.mirostat = 1, .mirostat_tau = 1, .min_keep = 7}, Zipf(50)), FirstIds(7));
}

// One step after the other: what the reply has goes into the next request.
TEST(MirostatTest, TheStateFollowsTheSurprise) {
  const Row row = Zipf(50);
  for (const int32_t version : {1, 2}) {
    RowInput input = InputOf(row, {.seed = 3});
    const Params params{.mirostat = version, .mirostat_tau = 2, .mirostat_eta = 0.25};
    double mu = 4;
    for (uint64_t position = 0; position < 50; ++position) {
      input.key.position = position;
      const Draw draw = DrawOf(params, input);
      Params reporting = params;
      const std::vector<double> p = Probabilities(reporting, input);
      mu -= 0.25 * (-std::log2(p[static_cast<size_t>(draw.token_id)]) - 2);
      ASSERT_TRUE(draw.state.mirostat_mu.has_value());
      EXPECT_NEAR(*draw.state.mirostat_mu, mu, 1e-5);
      EXPECT_FALSE(draw.state.adaptive_sum.has_value());
      input.state = draw.state;
      mu = *draw.state.mirostat_mu;
    }
  }
}

TEST(MirostatTest, GreedyRowsLeaveTheStateAlone) {
  const Row row = LogitsOf({0.6, 0.4});
  RowInput input = InputOf(row);
  input.state.mirostat_mu = 1.5;
  const Draw draw = DrawOf({.temperature = 0, .mirostat = 2}, input);
  EXPECT_EQ(draw.state.mirostat_mu, 1.5);
}

TEST(MirostatTest, CutsLargeRow) {
  ExpectCutsLargeRow({.mirostat = 1, .mirostat_tau = 3});
  ExpectCutsLargeRow({.mirostat = 2, .mirostat_tau = 3});
}

}  // namespace
}  // namespace tokendraw::sampling
