#include <cstddef>

#include "sampling/edits.h"
#include "tests/sampling/testing.h"

namespace tokendraw::sampling {
namespace {

// Little-endian 32-bit words that allow `ids`, for a vocabulary of `size`.
std::vector<std::byte> MaskOf(size_t size, const IdList& ids) {
  std::vector<std::byte> mask((size + 31) / 32 * 4);
  for (const int32_t id : ids) mask[static_cast<size_t>(id) / 8] |= std::byte{1} << (id % 8);
  return mask;
}

Row Masked(const Row& row, const std::vector<std::byte>& mask) {
  FloatRow masked;
  EXPECT_EQ(masked.Read(InputOf(row).logits, mask.data(), {}, {}), -1);
  return LogitsOf(masked);
}

IdList Allowed(size_t size, const std::vector<std::byte>& mask) {
  IdList allowed;
  const Row masked = Masked(Row(size, 0.0f), mask);
  for (const int32_t id : FirstIds(size)) {
    if (masked[static_cast<size_t>(id)] == 0) allowed.push_back(id);
  }
  return allowed;
}

TEST(AllowedMaskTest, LeastSignificantBitOfTheFirstByteIsToken0) {
  const auto bytes = [](std::initializer_list<int> values) {
    std::vector<std::byte> result;
    for (int value : values) result.push_back(static_cast<std::byte>(value));
    return result;
  };
  EXPECT_EQ(Allowed(40, bytes({0x01, 0, 0, 0, 0, 0, 0, 0})), IdList{0});
  EXPECT_EQ(Allowed(40, bytes({0x80, 0, 0, 0, 0, 0, 0, 0})), IdList{7});
  EXPECT_EQ(Allowed(40, bytes({0, 0x01, 0, 0, 0, 0, 0, 0})), IdList{8});
  EXPECT_EQ(Allowed(40, bytes({0, 0, 0, 0x80, 0, 0, 0, 0})), IdList{31});
  EXPECT_EQ(Allowed(40, bytes({0, 0, 0, 0, 0x01, 0, 0, 0})), IdList{32});
  EXPECT_EQ(Allowed(40, bytes({0x06, 0, 0, 0, 0x80, 0, 0, 0})), (IdList{1, 2, 39}));
}

TEST(AllowedMaskTest, EveryLengthAndEveryToken) {
  for (size_t size = 1; size <= 100; ++size) {
    EXPECT_EQ(Allowed(size, MaskOf(size, FirstIds(size))), FirstIds(size));
    for (const int32_t id : FirstIds(size)) {
      EXPECT_EQ(Allowed(size, MaskOf(size, {id})), IdList{id});
    }
  }
}

TEST(AllowedMaskTest, BitsPastTheVocabularyAreIgnored) {
  const std::vector<std::byte> mask = {std::byte{0xf0}, std::byte{0xff}, std::byte{0xff},
                                       std::byte{0xff}};
  EXPECT_EQ(Allowed(6, mask), (IdList{4, 5}));
  EXPECT_EQ(Allowed(4, mask), IdList{});
}

TEST(AllowedMaskTest, LeavesTheLogitsOfAllowedTokens) {
  const Row row = {1.25f, -2, 3e38f, -kInf};
  EXPECT_EQ(Masked(row, MaskOf(4, {0, 2, 3})), (Row{1.25f, -kInf, 3e38f, -kInf}));
}

TEST(AllowedMaskTest, ForbiddenTokensAreNeverDrawn) {
  const Row row = {50, 0, 50, 1, 50};
  const auto mask = MaskOf(5, {1, 3});
  RowInput input = InputOf(row);
  input.allowed_mask = mask;
  EXPECT_EQ(KeptIds(Params{}, input), (IdList{1, 3}));
  EXPECT_EQ(DrawOf(Params{.temperature = 0}, input).token_id, 3);
  input.sample_count = 500;
  IdList seen;
  for (const Draw& draw : DrawsOf(Params{}, input)) seen.push_back(draw.token_id);
  EXPECT_THAT(seen, testing::Each(testing::AnyOf(1, 3)));
  EXPECT_THAT(seen, testing::AllOf(testing::Contains(1), testing::Contains(3)));
}

TEST(AllowedMaskTest, AbsentAllowsAllAndZeroAllowsNone) {
  const Row row = {1, 2};
  RowInput input = InputOf(row);
  EXPECT_EQ(KeptIds(Params{}, input), (IdList{0, 1}));
  const auto none = MaskOf(2, {});
  input.allowed_mask = none;
  EXPECT_EQ(Sampler().Sample({}, input).error, RowErrorCode::kNoCandidate);
}

TEST(AllowedMaskTest, CutsLargeRow) {
  const Row row = PeakedRow(kLargeVocab, 5);
  const auto mask = MaskOf(row.size(), {3, 77777, kLargeVocab - 1});
  RowInput input = InputOf(row);
  input.allowed_mask = mask;
  EXPECT_EQ(KeptIds(Params{}, input), (IdList{3, 77777, kLargeVocab - 1}));
}

}  // namespace
}  // namespace tokendraw::sampling
