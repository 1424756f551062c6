#include "sampling/edits.h"
#include "tests/sampling/candidates_testing.h"
#include "tests/sampling/testing.h"

namespace tokendraw::sampling {
namespace {

using Mask = std::vector<std::byte>;

Mask Bytes(std::initializer_list<int> values) {
  Mask result;
  for (int value : values) result.push_back(static_cast<std::byte>(value));
  return result;
}

Mask Joined(const std::optional<Mask>& mask, const IdList& ids, int32_t vocab_size) {
  EditBuffers buffers;
  buffers.allowed_mask = Mask(99, std::byte{0xff});  // as an earlier row left it
  std::optional<std::span<const std::byte>> bits;
  if (mask.has_value()) bits = *mask;
  const auto joined = JoinAllowedIds(bits, ids, vocab_size, buffers);
  EXPECT_TRUE(joined.has_value());
  return {joined->begin(), joined->end()};
}

TEST(AllowedIdsTest, BitsOfTheIdsThatTheMaskAllows) {
  EXPECT_EQ(Joined({}, {0}, 32), Bytes({1, 0, 0, 0}));
  EXPECT_EQ(Joined({}, {31, 9, 9}, 32), Bytes({0, 2, 0, 0x80}));
  EXPECT_EQ(Joined({}, {32}, 33), Bytes({0, 0, 0, 0, 1, 0, 0, 0}));
  EXPECT_EQ(Joined(Bytes({5, 0, 0, 0}), {0, 1, 2}, 3), Bytes({5, 0, 0, 0}));
  EXPECT_EQ(Joined(Bytes({5, 0, 0, 0}), {1, 2}, 3), Bytes({4, 0, 0, 0}));
  EXPECT_EQ(Joined(Bytes({5, 0, 0, 0}), {1}, 3), Bytes({0, 0, 0, 0}));
}

TEST(AllowedIdsTest, WithoutIdsTheMaskIsAsItWas) {
  EditBuffers buffers;
  EXPECT_FALSE(JoinAllowedIds({}, {}, 5, buffers).has_value());
  const Mask mask = Bytes({5, 0, 0, 0});
  EXPECT_EQ(JoinAllowedIds(mask, {}, 5, buffers)->data(), mask.data());
}

TEST(AllowedIdsTest, EveryLengthAndEveryToken) {
  for (size_t size = 1; size <= 100; ++size) {
    for (const int32_t id : FirstIds(size)) {
      EXPECT_EQ(KeptIds({.allowed_ids = {id, id}}, Row(size, 0.0f)), IdList{id});
    }
  }
}

TEST(AllowedIdsTest, OthersAreNeverDrawn) {
  const Row row = {50, 0, 50, 1, -kInf};
  RowInput input = InputOf(row);
  Params params{.allowed_ids = {3, 1, 4}, .logit_bias = {{0, 3e38f}}};
  EXPECT_EQ(KeptIds(params, input), (IdList{1, 3}));
  EXPECT_EQ(DrawOf({.temperature = 0, .allowed_ids = {1, 4}}, input).token_id, 1);
  const Mask mask = Bytes({0x07, 0, 0, 0});
  input.allowed_mask = mask;
  EXPECT_EQ(KeptIds(params, input), IdList{1});
  params.allowed_ids = {3};
  EXPECT_EQ(Sampler().Sample(params, input).error, RowErrorCode::kNoCandidate);
  params.allowed_ids = {4};
  input.allowed_mask.reset();
  EXPECT_EQ(Sampler().Sample(params, input).error, RowErrorCode::kNoCandidate);
}

// The same sampler, with a mask of its own or without, for rows that follow.
TEST(AllowedIdsTest, DoNotStayForTheNextRow) {
  const Row row = {0, 1, 2};
  Sampler sampler;
  const auto kept = [&](const IdList& ids) {
    const Params params{.allowed_ids = ids, .return_kept = true};
    return sampler.Sample(params, InputOf(row)).draws.at(0).kept_ids;
  };
  EXPECT_EQ(kept({2}), IdList{2});
  EXPECT_EQ(kept({0, 1}), (IdList{0, 1}));
  EXPECT_EQ(kept({}), FirstIds(3));
}

TEST(AllowedIdsTest, CutsLargeRow) {
  const Row row = PeakedRow(kLargeVocab, 5);
  const IdList allowed = {3, 77777, kLargeVocab - 1};
  EXPECT_EQ(KeptIds({.allowed_ids = allowed}, row), allowed);
}

// As with a mask, candidates decide what the ids allow among them, and nothing else need be known.
TEST(AllowedIdsTest, Candidates) {
  const Row row = SortedRow();
  RowInput input = InputOf(row);
  Params params{.allowed_ids = {3, 5, 19}, .logprobs = LogprobMode::kProcessed};
  ExpectDecided(params, input, Reduce(row, 20));
  ExpectNeedsRow(params, input, Reduce(row, 19));
  Mask mask((kVocab + 31) / 32 * 4, std::byte{0xff});
  mask[2] = std::byte{0xf7};  // not 19
  input.allowed_mask = mask;
  ExpectDecided(params, input, Reduce(row, 19));
  params.logprobs = LogprobMode::kRaw;  // of the row as it came
  ExpectNeedsRow(params, input, Reduce(row, 20));
  params = {.temperature = 0, .allowed_ids = {100}};
  ExpectNeedsRow(params, input, Reduce(row, 20));
}

}  // namespace
}  // namespace tokendraw::sampling
