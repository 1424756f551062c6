#include <algorithm>

#include "sampling/edits.h"
#include "tests/sampling/testing.h"

namespace tokendraw::sampling {
namespace {

// The banned ids, ascending, each once.
IdList Banned(int32_t size, const IdList& prompt_ids, const IdList& output_ids = {}) {
  EditBuffers buffers;
  BanRepeatedNgrams(size, {.prompt_ids = prompt_ids, .output_ids = output_ids}, buffers);
  std::sort(buffers.banned.begin(), buffers.banned.end());
  buffers.banned.erase(std::unique(buffers.banned.begin(), buffers.banned.end()),
                       buffers.banned.end());
  return buffers.banned;
}

TEST(NoRepeatNgramTest, BansWhatCompletesAnNgramOfTheHistory) {
  const IdList history = {1, 2, 3, 4, 1, 2, 3};
  EXPECT_EQ(Banned(0, history), IdList{});
  EXPECT_EQ(Banned(2, history), IdList{4});
  EXPECT_EQ(Banned(3, history), IdList{4});
  EXPECT_EQ(Banned(4, history), IdList{4});  // 1 2 3 4
  EXPECT_EQ(Banned(5, history), IdList{});   // nothing precedes the first 1
  EXPECT_EQ(Banned(4, {0, 2, 3, 4, 1, 2, 3}), IdList{});
  EXPECT_EQ(Banned(3, {0, 2, 3, 4, 1, 2, 3}), IdList{4});
}

TEST(NoRepeatNgramTest, SeveralCanBeBanned) {
  EXPECT_EQ(Banned(2, {5, 1, 5, 2, 5, 1, 3, 5}), (IdList{1, 2}));
  EXPECT_EQ(Banned(3, {0, 5, 1, 5, 2, 0, 5}), IdList{1});
}

TEST(NoRepeatNgramTest, OneBansEveryTokenOfTheHistory) {
  EXPECT_EQ(Banned(1, {7, 3, 7, 5}), (IdList{3, 5, 7}));
  EXPECT_EQ(Banned(1, {}, {4}), IdList{4});
  EXPECT_EQ(Banned(1, {}), IdList{});
}

// An n-gram has n tokens: with n - 1 there is none.
TEST(NoRepeatNgramTest, ShortHistories) {
  EXPECT_EQ(Banned(2, {6}), IdList{});
  EXPECT_EQ(Banned(2, {6, 6}), IdList{6});
  EXPECT_EQ(Banned(3, {6, 6}), IdList{});
  EXPECT_EQ(Banned(3, {6, 6, 6}), IdList{6});
  EXPECT_EQ(Banned(4, {6, 6, 6}), IdList{});
  EXPECT_EQ(Banned(2147483647, {6, 6, 6}), IdList{});
}

TEST(NoRepeatNgramTest, OutputFollowsPrompt) {
  EXPECT_EQ(Banned(3, {1, 2, 3}, {1, 2}), IdList{3});
  EXPECT_EQ(Banned(3, {1, 2}, {3, 1, 2}), IdList{3});
  EXPECT_EQ(Banned(3, {1, 2}, {1, 2, 3}), IdList{});
  const std::vector<TokenCount> counts = {{3, 5, 0}};
  EditBuffers buffers;
  BanRepeatedNgrams(1, {.token_counts = counts}, buffers);
  EXPECT_EQ(buffers.banned, IdList{});
}

TEST(NoRepeatNgramTest, ABannedTokenIsNeverDrawn) {
  const Row row = {0, 50, -kInf, 1};
  const IdList history = {3, 1, 3, 2, 3};
  RowInput input = InputOf(row);
  input.history.output_ids = history;
  Params params{.no_repeat_ngram_size = 2, .logit_bias = {{1, 3e38f}}};
  EXPECT_EQ(KeptIds(params, input), (IdList{0, 3}));
  params.logit_bias = {{0, -kInf}};
  EXPECT_EQ(KeptIds(params, input), IdList{3});
  params.no_repeat_ngram_size = 1;
  EXPECT_EQ(Sampler().Sample(params, input).error, RowErrorCode::kNoCandidate);
}

// What is banned is no fault, whatever a bias makes of it.
TEST(NoRepeatNgramTest, ABanHidesAnOverflow) {
  const Row row = {3e38f, 1};
  const IdList history = {0};
  RowInput input = InputOf(row);
  input.history.output_ids = history;
  Params params{.no_repeat_ngram_size = 1, .logit_bias = {{0, 3e38f}}};
  EXPECT_EQ(KeptIds(params, input), IdList{1});
  params.no_repeat_ngram_size = 0;
  EXPECT_EQ(Sampler().Sample(params, input).error, RowErrorCode::kNotFinite);
}

// Comparing each n-gram with the last would take 10^11 steps here.
TEST(NoRepeatNgramTest, TakesLinearTime) {
  const IdList history(1 << 20, 7);
  EXPECT_EQ(Banned(1 << 19, history), IdList{7});
  EXPECT_EQ(Banned(1 << 20, history), IdList{7});
  EXPECT_EQ(Banned((1 << 20) + 1, history), IdList{});
}

TEST(NoRepeatNgramTest, ChangesLargeRow) {
  const Row row = PeakedRow(kLargeVocab, 5);
  const int32_t best = TokenOf({.temperature = 0}, row);
  const IdList history = {1, 2, best, 1, 2};
  RowInput input = InputOf(row);
  input.history.output_ids = history;
  EXPECT_NE(DrawOf({.temperature = 0, .no_repeat_ngram_size = 3}, input).token_id, best);
  EXPECT_EQ(DrawOf({.temperature = 0, .no_repeat_ngram_size = 4}, input).token_id, best);
}

}  // namespace
}  // namespace tokendraw::sampling
