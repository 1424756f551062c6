#include "sampling/edits.h"
#include "tests/sampling/testing.h"

namespace tokendraw::sampling {
namespace {

IdList Banned(const std::vector<TokenSequence>& sequences, const IdList& prompt_ids,
              const IdList& output_ids = {}) {
  EditBuffers buffers;
  BanBadTokens(sequences, {.prompt_ids = prompt_ids, .output_ids = output_ids}, buffers);
  return buffers.banned;
}

TEST(BadTokensTest, BansTheLastTokenAfterTheOthers) {
  EXPECT_EQ(Banned({{1, 2, 3}}, {0, 1, 2}), IdList{3});
  EXPECT_EQ(Banned({{1, 2, 3}}, {0, 1, 2, 0}), IdList{});
  EXPECT_EQ(Banned({{1, 2, 3}}, {1, 1}), IdList{});
  EXPECT_EQ(Banned({{1, 2, 3}}, {2, 2}), IdList{});
  EXPECT_EQ(Banned({{1, 2, 3}}, {2, 1}), IdList{});
  EXPECT_EQ(Banned({{2, 2, 2}}, {2, 2, 2}), IdList{2});
  EXPECT_EQ(Banned({}, {1, 2}), IdList{});
}

TEST(BadTokensTest, TheOthersMayBeAllOfTheHistory) {
  EXPECT_EQ(Banned({{1, 2, 3}}, {1, 2}), IdList{3});
  EXPECT_EQ(Banned({{1, 2, 3}}, {2}), IdList{});
  EXPECT_EQ(Banned({{1, 2, 3}}, {}), IdList{});
  EXPECT_EQ(Banned({{1, 2}}, {1}), IdList{2});
  EXPECT_EQ(Banned({{1, 2}}, {}), IdList{});
}

TEST(BadTokensTest, ASequenceOfOneIsAlwaysBanned) {
  EXPECT_EQ(Banned({{4}}, {}), IdList{4});
  EXPECT_EQ(Banned({{4}}, {1, 2}), IdList{4});
  EditBuffers buffers;
  const std::vector<TokenCount> counts = {{3, 5, 0}};
  BanBadTokens(std::vector<TokenSequence>{{4}, {3, 4}}, {.token_counts = counts}, buffers);
  EXPECT_EQ(buffers.banned, IdList{4});
}

TEST(BadTokensTest, OutputFollowsPrompt) {
  const std::vector<TokenSequence> bad = {{1, 2, 3, 4}};
  EXPECT_EQ(Banned(bad, {1}, {2, 3}), IdList{4});
  EXPECT_EQ(Banned(bad, {0, 1, 2}, {3}), IdList{4});
  EXPECT_EQ(Banned(bad, {1, 2, 3}, {}), IdList{4});
  EXPECT_EQ(Banned(bad, {}, {1, 2, 3}), IdList{4});
  EXPECT_EQ(Banned(bad, {1}, {2, 2}), IdList{});
  EXPECT_EQ(Banned(bad, {2}, {2, 3}), IdList{});
  EXPECT_EQ(Banned(bad, {2, 3}, {1}), IdList{});
}

TEST(BadTokensTest, EachSequenceByItself) {
  EXPECT_EQ(Banned({{1, 2}, {0, 3}, {0, 1, 5}, {7}}, {0, 1}), (IdList{2, 5, 7}));
  EXPECT_EQ(KeptIds({.bad_token_sequences = {{1}, {1}, {3}}}, Row{0, 50, 1, 50}), (IdList{0, 2}));
}

TEST(BadTokensTest, ABannedTokenIsNeverBroughtBack) {
  const Params params{.bad_token_sequences = {{1}}, .logit_bias = {{1, 3e38f}}};
  EXPECT_EQ(KeptIds(params, Row{0, 50, 0}), (IdList{0, 2}));
  const Params all{.bad_token_sequences = {{1}, {0}}};
  const Row row = {0, 1};
  EXPECT_EQ(Sampler().Sample(all, InputOf(row)).error, RowErrorCode::kNoCandidate);
}

TEST(BadTokensTest, ChangesLargeRow) {
  const Row row = PeakedRow(kLargeVocab, 5);
  const int32_t best = TokenOf({.temperature = 0}, row);
  const IdList history = {1, 2};
  RowInput input = InputOf(row);
  input.history.output_ids = history;
  Params params{.temperature = 0, .bad_token_sequences = {{1, 1, best}}};
  EXPECT_EQ(DrawOf(params, input).token_id, best);
  params.bad_token_sequences = {{1, 2, best}};
  EXPECT_NE(DrawOf(params, input).token_id, best);
}

}  // namespace
}  // namespace tokendraw::sampling
