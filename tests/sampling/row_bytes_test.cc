// Rows that lie in several places give what they give in one.
#include "sampling/row_bytes.h"

#include <cstring>
#include <string>

#include "tests/sampling/random_case.h"
#include "tests/sampling/testing.h"

namespace tokendraw::sampling {
namespace {

using Pieces = std::vector<std::span<const std::byte>>;

constexpr size_t kCuts[] = {1, 2, 3, 7, 64, 1000, 1024, 2048, 8183, 1 << 20};

// `row`, cut every `size` bytes.
Pieces Cut(const LogitsRow& row, size_t size) {
  const std::span bytes(static_cast<const std::byte*>(row.data),
                        static_cast<size_t>(row.vocab_size) * ElementSize(row.type));
  Pieces pieces;
  for (size_t at = 0; at < bytes.size(); at += size) {
    pieces.push_back(bytes.subspan(at, std::min(size, bytes.size() - at)));
  }
  return pieces;
}

LogitsRow InPieces(LogitsRow row, const Pieces& pieces) {
  row.data = nullptr;
  row.pieces = pieces;
  return row;
}

TEST(RowBytesTest, GoesOnAndBack) {
  const std::string text = "abcdefghijklmnop";  // four floats
  const LogitsRow whole = {.data = text.data(), .vocab_size = 4};
  for (size_t cut = 1; cut <= text.size(); ++cut) {
    const Pieces pieces = Cut(whole, cut);
    RowBytes bytes(InPieces(whole, pieces));
    for (const size_t at : {0, 3, 4, 12, 2, 2, 15, 0}) {
      bytes.Seek(at);
      EXPECT_EQ(static_cast<char>(bytes.Here()[0]), text[at]);
      for (size_t size = 1, next = at; next + size <= text.size(); next += size, ++size) {
        std::array<std::byte, 16> room;
        const std::byte* const read = bytes.Next(size, room.data());
        EXPECT_EQ(std::memcmp(read, &text[next], size), 0) << cut << " " << next << " " << size;
        const bool together = next / cut == (next + size - 1) / cut;
        EXPECT_EQ(reinterpret_cast<const char*>(read) == &text[next], together);
      }
    }
  }
}

void ExpectSame(const FloatRow& row, const FloatRow& expected) {
  EXPECT_EQ(row.max(), expected.max());
  ASSERT_EQ(row.sums().has_value(), expected.sums().has_value());
  if (row.sums()) {
    EXPECT_EQ(std::memcmp(&*row.sums(), &*expected.sums(), sizeof(RowSums)), 0);
  }
  EXPECT_TRUE(std::ranges::equal(row.block_max(), expected.block_max()));
  EXPECT_EQ(LogitsOf(row), LogitsOf(expected));
  for (size_t i = 0; i < row.block_max().size(); ++i) {
    EXPECT_TRUE(std::ranges::equal(row.block(i), expected.block(i)));
  }
}

TEST(RowBytesTest, ReadsTheSameRow) {
  FloatRow in_one, in_pieces, patched, patched_pieces;
  std::mt19937 random(5);
  for (const size_t vocab_size : {1, 255, 256, 257, 5000}) {
    const Row row = GaussianRow(vocab_size, 3, 7);
    std::vector<std::byte> mask((vocab_size + 31) / 32 * 4);
    for (std::byte& bits : mask) bits = static_cast<std::byte>(random());
    const std::byte* const no_mask = nullptr;
    const std::byte* const mask_data = mask.data();
    std::vector<Patch> patches;
    for (int32_t id = 0; id < static_cast<int32_t>(vocab_size); id += 300) {
      patches.push_back({id, 2.5f});
    }
    for (const DataType type : {DataType::kF32, DataType::kF16, DataType::kBF16}) {
      const LogitsRow whole = {row.data(), type, static_cast<int32_t>(vocab_size)};
      for (const size_t cut : kCuts) {
        SCOPED_TRACE(testing::Message() << vocab_size << " cut every " << cut);
        const Pieces pieces = Cut(whole, cut);
        for (const std::byte* const bits : {no_mask, mask_data}) {
          for (const auto& edits : {std::span<const Patch>(), std::span<const Patch>(patches)}) {
            const SumRequest sums = {SumRequest::Kind::kWeighted, 0.7};
            const int32_t error = in_one.Read(whole, bits, edits, sums);
            ASSERT_EQ(in_pieces.Read(InPieces(whole, pieces), bits, edits, sums), error);
            if (error >= 0) continue;
            patched.CopyPatched(in_one, patches);
            patched_pieces.CopyPatched(in_pieces, patches);
            ExpectSame(patched_pieces, patched);
            ExpectSame(in_pieces, in_one);
            if (HasFatalFailure()) return;
          }
        }
      }
    }
  }
}

TEST(RowBytesTest, SamplesTheSameTokens) {
  Sampler sampler;
  int drawn = 0;
  for (uint32_t i = 0; i < 3000; ++i) {
    const RandomCase test_case = MakeRandomCase(7'000'000 + i, static_cast<int32_t>(i % 3000 + 1));
    RowInput input = test_case.Input();
    const RowResult expected = sampler.Sample(test_case.params, input);
    const Pieces pieces = Cut(input.logits, kCuts[i % std::size(kCuts)]);
    input.logits = InPieces(input.logits, pieces);
    const RowResult result = sampler.Sample(test_case.params, input);
    ASSERT_EQ(result.error, expected.error);
    ASSERT_EQ(result.error_token, expected.error_token);
    ASSERT_EQ(result.draws.size(), expected.draws.size());
    for (size_t k = 0; k < result.draws.size(); ++k, ++drawn) {
      ASSERT_EQ(result.draws[k].token_id, expected.draws[k].token_id);
      ASSERT_EQ(result.draws[k].kept_ids, expected.draws[k].kept_ids);
      ASSERT_EQ(result.draws[k].logprob, expected.draws[k].logprob);
    }
  }
  EXPECT_GT(drawn, 2000);
}

}  // namespace
}  // namespace tokendraw::sampling
