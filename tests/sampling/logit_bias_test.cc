#include "sampling/edits.h"
#include "tests/sampling/testing.h"

namespace tokendraw::sampling {
namespace {

Row Biased(Row row, const std::vector<LogitBias>& biases) {
  return Edited(row, [&](Patches& edited) { ApplyLogitBias(biases, edited); });
}

TEST(LogitBiasTest, AddsInFloat32) {
  EXPECT_EQ(Biased({1, 2, 3}, {}), (Row{1, 2, 3}));
  EXPECT_EQ(Biased({1, 2, 3}, {{2, 0.5f}, {0, -4}}), (Row{-3, 2, 3.5f}));
  EXPECT_EQ(Biased({120, 0}, {{0, -100}}), (Row{20, 0}));
  EXPECT_EQ(Biased({16777216}, {{0, 1}}), Row{16777216});  // rounded to float32
  EXPECT_EQ(Biased({16777216}, {{0, 3}}), Row{16777220});
  EXPECT_EQ(Biased({0, 0}, {{1, 1e30f}}), (Row{0, 1e30f}));  // never clamped
}

TEST(LogitBiasTest, MinusInfinityBansAndNothingBringsBack) {
  EXPECT_EQ(Biased({1, 2}, {{0, -kInf}}), (Row{-kInf, 2}));
  EXPECT_EQ(Biased({-kInf, 2}, {{0, 3e38f}}), (Row{-kInf, 2}));
  const Params params{.logit_bias = {{0, 3e38f}, {1, -kInf}}};
  EXPECT_EQ(KeptIds(params, Row{-kInf, 50, 0}), IdList{2});
}

TEST(LogitBiasTest, ABannedTokenIsNeverDrawn) {
  const Params params{.logit_bias = {{1, -kInf}}};
  for (uint64_t seed = 0; seed < 200; ++seed) EXPECT_NE(TokenOf(params, {0, 30, 0}, {seed}), 1);
  Params greedy = params;
  greedy.temperature = 0;
  EXPECT_EQ(TokenOf(greedy, {0, 30, 1}), 2);
}

TEST(LogitBiasTest, OverflowIsARowErrorOfItsToken) {
  const Row row = {0, 3e38f, 1};
  const Params params{.logit_bias = {{1, 3e38f}}};
  const RowResult result = Sampler().Sample(params, InputOf(row));
  EXPECT_EQ(result.error, RowErrorCode::kNotFinite);
  EXPECT_EQ(result.error_token, 1);
  EXPECT_TRUE(result.draws.empty());
}

TEST(LogitBiasTest, BanningAllLeavesNoCandidate) {
  const Row row = {0, 1};
  const Params params{.logit_bias = {{0, -kInf}, {1, -kInf}}};
  EXPECT_EQ(Sampler().Sample(params, InputOf(row)).error, RowErrorCode::kNoCandidate);
}

TEST(LogitBiasTest, ChangesLargeRow) {
  const Params params{.temperature = 0, .logit_bias = {{kLargeVocab - 1, 100}}};
  EXPECT_EQ(TokenOf(params, PeakedRow(kLargeVocab, 5)), kLargeVocab - 1);
}

}  // namespace
}  // namespace tokendraw::sampling
