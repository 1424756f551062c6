#include "sampling/edits.h"
#include "tests/sampling/testing.h"

namespace tokendraw::sampling {
namespace {

const IdList kStops = {2, 0};

IdList Banned(int32_t min_tokens, const History& history,
              std::optional<int32_t> output_count = std::nullopt) {
  EditBuffers buffers;
  BanEarlyStops(min_tokens, kStops, history, output_count, buffers);
  return buffers.banned;
}

TEST(MinTokensTest, BansTheStopsUntilThereAreSoMany) {
  const IdList prompt = {1, 1, 1, 1}, output = {1, 3, 1};
  const History history{.prompt_ids = prompt, .output_ids = output};
  EXPECT_EQ(Banned(0, history), IdList{});
  EXPECT_EQ(Banned(3, history), IdList{});
  EXPECT_EQ(Banned(4, history), kStops);  // the prompt does not count
  EXPECT_EQ(Banned(2147483647, history), kStops);
  EXPECT_EQ(Banned(1, {}), kStops);
  EXPECT_EQ(Banned(0, {}), IdList{});
}

TEST(MinTokensTest, ACountOfTheCallerComesFirst) {
  const IdList output = {1, 3, 1};
  const History history{.output_ids = output};
  EXPECT_EQ(Banned(5, history, 4), kStops);
  EXPECT_EQ(Banned(5, history, 5), IdList{});
  EXPECT_EQ(Banned(1, history, 0), kStops);
  const std::vector<TokenCount> counts = {{1, 9, 0}};
  EXPECT_EQ(Banned(5, {.token_counts = counts}, 4), kStops);
}

TEST(MinTokensTest, CountsAddUp) {
  std::vector<TokenCount> counts = {{1, 2, 5}, {3, 1, 0}, {4, 0, 7}};
  EXPECT_EQ(Banned(3, {.token_counts = counts}), IdList{});
  EXPECT_EQ(Banned(4, {.token_counts = counts}), kStops);
  counts = {{1, 2147483647, 0}, {3, 2147483647, 0}};
  EXPECT_EQ(Banned(4, {.token_counts = counts}), IdList{});
}

TEST(MinTokensTest, ABannedTokenIsNeverDrawn) {
  const Row row = {50, 0, 50, 1};
  Params params{.min_tokens = 2, .stop_ids = {2, 0, 2}, .logit_bias = {{0, 3e38f}}};
  RowInput input = InputOf(row);
  input.output_count = 1;
  EXPECT_EQ(KeptIds(params, input), (IdList{1, 3}));
  params.logit_bias.clear();
  input.output_count = 2;
  EXPECT_EQ(KeptIds(params, input), FirstIds(4));
  params.stop_ids.clear();
  input.output_count = 1;
  EXPECT_EQ(KeptIds(params, input), FirstIds(4));
  params.stop_ids = FirstIds(4);
  EXPECT_EQ(Sampler().Sample(params, input).error, RowErrorCode::kNoCandidate);
}

TEST(MinTokensTest, ChangesLargeRow) {
  const Row row = PeakedRow(kLargeVocab, 5);
  const int32_t best = TokenOf({.temperature = 0}, row);
  EXPECT_NE(TokenOf({.temperature = 0, .min_tokens = 1, .stop_ids = {best}}, row), best);
}

}  // namespace
}  // namespace tokendraw::sampling
