#include "client/candidates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "tests/client/files.h"

namespace tokendraw {
namespace {

using ::testing::ElementsAre;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

v1::CandidateRow Reduce(const std::string& bytes, v1::DataType type, int vocab_size, int count) {
  v1::CandidateRow row;
  ReduceRow(std::as_bytes(std::span(bytes)), type, vocab_size, count, row);
  return row;
}

v1::CandidateRow Reduce(const std::vector<float>& row, int count) {
  return Reduce(FloatBytes(row), v1::DATA_TYPE_F32, static_cast<int>(row.size()), count);
}

// Straight from the definition: one rank for each token, one sum for each field, in long double.
void ExpectReduced(const std::vector<float>& x, int count, const v1::CandidateRow& got) {
  std::vector<int> ids;
  std::vector<float> logits;
  for (std::size_t i = 0; i < x.size(); ++i) {
    int ahead = 0;
    for (std::size_t j = 0; j < x.size(); ++j) ahead += x[j] > x[i] || (x[j] == x[i] && j < i);
    if (ahead >= count) continue;
    ids.push_back(static_cast<int>(i));
    logits.push_back(x[i]);
  }
  EXPECT_THAT(got.ids(), testing::ElementsAreArray(ids));
  EXPECT_THAT(got.logits(), testing::ElementsAreArray(logits));

  long double z = 0, n = 0, sum = 0, mean_logit = 0, squares = 0, deviation = 0;
  for (const float v : x) {
    if (std::isinf(v)) continue;
    z += std::exp(static_cast<long double>(v));
    sum += v;
    n += 1;
  }
  for (const float v : x) {
    if (std::isinf(v)) continue;
    const long double p = std::exp(static_cast<long double>(v)) / z;
    mean_logit += p * v;
    squares += p * p;
    deviation += (v - sum / n) * (v - sum / n);
  }
  EXPECT_EQ(got.max(), *std::max_element(x.begin(), x.end()));
  EXPECT_NEAR(got.log_sum_exp(), std::log(z), 1e-9);
  EXPECT_NEAR(got.mean_logit(), mean_logit, 1e-9);
  EXPECT_NEAR(got.logit_mean(), sum / n, 1e-9);
  EXPECT_NEAR(got.logit_stddev(), std::sqrt(deviation / n), 1e-9);
  EXPECT_NEAR(got.sum_squared_probability(), squares, 1e-9 * squares);
}

// Halves and quarters, so that there are many ties, and every data type has them.
std::vector<float> RandomRow(int vocab_size, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> row(vocab_size);
  for (float& x : row) x = static_cast<float>(static_cast<int>(random() % 201) - 100) / 4;
  for (float& x : row) {
    if (random() % 10 == 0) x = -kInf;
  }
  row[random() % row.size()] = 3;  // one at least is not masked
  return row;
}

std::string Bfloat16Bytes(const std::vector<float>& row) {
  std::string bytes;
  for (const float x : row) bytes += FloatBytes({x}).substr(2);
  return bytes;
}

// By the definition of binary16; exact for what RandomRow makes.
std::string HalfBytes(const std::vector<float>& row) {
  std::string bytes;
  for (const float x : row) {
    int exponent;
    const float fraction = std::frexp(std::fabs(x), &exponent);  // [0.5, 1)
    std::uint16_t bits = std::isinf(x) ? 0x7c00 : 0;
    if (x != 0 && !std::isinf(x)) {
      bits = static_cast<std::uint16_t>((exponent + 14) * 1024 + static_cast<int>(fraction * 2048) -
                                        1024);
    }
    bytes += LittleEndian(bits | (std::signbit(x) ? 0x8000 : 0), 2);
  }
  return bytes;
}

TEST(ReduceRowTest, IsTheDefinitionForEveryDataType) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    const int vocab_size = 1 + static_cast<int>(seed * 37 % 400);
    const std::vector<float> row = RandomRow(vocab_size, seed);
    for (const int count : {1, 2, 7, vocab_size, vocab_size + 1}) {
      ExpectReduced(row, count, Reduce(row, count));
      ExpectReduced(row, count, Reduce(Bfloat16Bytes(row), v1::DATA_TYPE_BF16, vocab_size, count));
      ExpectReduced(row, count, Reduce(HalfBytes(row), v1::DATA_TYPE_F16, vocab_size, count));
    }
  }
}

TEST(ReduceRowTest, EqualLogitsGoLowestIdFirst) {
  const v1::CandidateRow row = Reduce({1, 2, 2, -0.f, 2, 1, 0}, 4);
  EXPECT_THAT(row.ids(), ElementsAre(0, 1, 2, 4));
  EXPECT_THAT(Reduce({0.f, -0.f, 0.f}, 2).ids(), ElementsAre(0, 1));
}

TEST(ReduceRowTest, LargeLogitsDoNotOverflow) {
  const v1::CandidateRow row = Reduce({3e38f, 3e38f, -3e38f}, 1);
  EXPECT_EQ(row.log_sum_exp(), 3e38f + std::log(2.0));
  EXPECT_EQ(row.mean_logit(), 3e38f);
  EXPECT_EQ(row.sum_squared_probability(), 0.5);
}

TEST(ReduceRowTest, MaskedTokensAreInNoSum) {
  const v1::CandidateRow row = Reduce({-kInf, 1, -kInf, 1}, 3);
  EXPECT_THAT(row.ids(), ElementsAre(0, 1, 3));
  EXPECT_EQ(row.logit_mean(), 1);
  EXPECT_EQ(row.logit_stddev(), 0);
  EXPECT_EQ(row.sum_squared_probability(), 0.5);
}

TEST(ReduceRowTest, ARowOfMaskedTokensHasNoSummary) {
  EXPECT_EQ(Reduce({-kInf, -kInf}, 1).ShortDebugString(), "ids: 0 logits: -inf");
}

TEST(ReduceRowTest, TheFirstOffendingTokenIsTheOnlyCandidate) {
  EXPECT_EQ(Reduce({5, -kInf, kInf, kNan}, 3).ShortDebugString(), "ids: 2 logits: inf");
  EXPECT_EQ(Reduce({5, kNan, kInf, 1}, 3).ShortDebugString(), "ids: 1 logits: nan");
  const std::string halves = LittleEndian(0x3c00, 2) + LittleEndian(0x7c00, 2);
  EXPECT_EQ(Reduce(halves, v1::DATA_TYPE_F16, 2, 1).ShortDebugString(), "ids: 1 logits: inf");
  const std::string nan_half = LittleEndian(0x3c00, 2) + LittleEndian(0x7e00, 2);
  EXPECT_EQ(Reduce(nan_half, v1::DATA_TYPE_F16, 2, 1).ShortDebugString(), "ids: 1 logits: nan");
}

TEST(ReduceRowTest, ReadsTheSmallestHalves) {
  const std::string bytes = LittleEndian(0x0001, 2) + LittleEndian(0x83ff, 2) +
                            LittleEndian(0x0400, 2) + LittleEndian(0x7bff, 2);
  EXPECT_THAT(Reduce(bytes, v1::DATA_TYPE_F16, 4, 4).logits(),
              ElementsAre(0x1p-24f, -1023 * 0x1p-24f, 0x1p-14f, 65504.f));
}

TEST(SetCandidatesTest, ReducesEachRowAndSkipsPadding) {
  const std::string bytes = FloatBytes({1, 3, 2, 99, 6, 5, 4, 99});
  v1::LogitsTensor tensor;
  tensor.set_row_stride(7);
  tensor.set_inline_("x");
  SetCandidates(std::as_bytes(std::span(bytes)), v1::DATA_TYPE_F32, 3, 2, 4, 2, tensor);
  EXPECT_EQ(tensor.vocab_size(), 3);
  EXPECT_EQ(tensor.row_count(), 2);
  EXPECT_EQ(tensor.row_stride(), 0);
  EXPECT_EQ(tensor.data_type(), v1::DATA_TYPE_F32);
  ASSERT_EQ(tensor.candidates().rows_size(), 2);
  EXPECT_THAT(tensor.candidates().rows(0).ids(), ElementsAre(1, 2));
  EXPECT_THAT(tensor.candidates().rows(1).ids(), ElementsAre(0, 1));
  EXPECT_THAT(tensor.candidates().rows(1).logits(), ElementsAre(6, 5));
  // Again, without a stride.
  SetCandidates(std::as_bytes(std::span(bytes)), v1::DATA_TYPE_F32, 4, 2, 0, 1, tensor);
  ASSERT_EQ(tensor.candidates().rows_size(), 2);
  EXPECT_THAT(tensor.candidates().rows(1).ids(), ElementsAre(3));
}

}  // namespace
}  // namespace tokendraw
