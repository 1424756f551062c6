#include "sampling/noise.h"

#include <Random123/philox.h>

#include <set>

#include "tests/oracle/philox.h"
#include "tests/sampling/testing.h"

namespace tokendraw::sampling {
namespace {

using Words = std::array<uint32_t, 4>;

// Random123's own known-answer vectors of philox4x32-10 (its file kat_vectors).
TEST(NoiseTest, PhiloxKnownAnswers) {
  struct Case {
    Words counter;
    std::array<uint32_t, 2> key;
    Words expected;
  };
  for (const Case& c : {
           Case{{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
           Case{{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
                {0xffffffff, 0xffffffff},
                {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
           Case{{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
                {0xa4093822, 0x299f31d0},
                {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
       }) {
    EXPECT_EQ(oracle::Philox(c.counter, c.key), c.expected);
    const auto words = r123::Philox4x32()(
        {{c.counter[0], c.counter[1], c.counter[2], c.counter[3]}}, {{c.key[0], c.key[1]}});
    EXPECT_EQ((Words{words[0], words[1], words[2], words[3]}), c.expected);
  }
}

// The words of counter 0 and key 0 above, as the definition of u reads them.
TEST(NoiseTest, UniformKnownAnswers) {
  const auto expected = [](uint64_t bits) {
    return (static_cast<double>(bits >> 11) + 0.5) * 0x1p-53;
  };
  EXPECT_EQ(Uniform({}, Purpose::kToken, 0, 0), expected(0xe169c58d6627e8d5));
  EXPECT_EQ(Uniform({}, Purpose::kToken, 0, 1), expected(0x9b00dbd8bc57ac4c));
  EXPECT_NEAR(Uniform({}, Purpose::kToken, 0, 0), 0.88052, 1e-5);
}

TEST(NoiseTest, UniformEqualsTheOracle) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 20000; ++i) {
    const RandomKey key{random(), random() >> (i % 64)};
    const auto purpose = static_cast<uint32_t>(i % 4);
    const auto sample = static_cast<int32_t>(random() % kMaxSampleCount);
    const auto id = static_cast<int32_t>(random() >> 33);
    ASSERT_EQ(Uniform(key, static_cast<Purpose>(purpose), sample, id),
              oracle::Uniform(key.seed, key.position, purpose, static_cast<uint32_t>(sample),
                              static_cast<uint32_t>(id)));
  }
}

TEST(NoiseTest, EveryPartOfTheNameMatters) {
  constexpr uint64_t kHigh = uint64_t{1} << 32;
  std::set<double> values;
  int names = 0;
  for (const uint64_t seed : {uint64_t{0}, uint64_t{1}, kHigh, 3 * kHigh + 1}) {
    for (const uint64_t position : {uint64_t{0}, uint64_t{1}, kHigh, 5 * kHigh}) {
      for (const Purpose purpose : {Purpose::kToken, Purpose::kXtcCoin, Purpose::kSpeculativeAccept,
                                    Purpose::kSpeculativeRecovery}) {
        for (const int32_t sample : {0, 1, kMaxSampleCount - 1}) {
          for (const int32_t id : {0, 1, 2, 3, kLargeVocab - 1}) {
            values.insert(Uniform({seed, position}, purpose, sample, id));
            ++names;
          }
        }
      }
    }
  }
  EXPECT_EQ(values.size(), static_cast<size_t>(names));
  EXPECT_EQ(names, 4 * 4 * 4 * 3 * 5);
}

TEST(NoiseTest, UniformIsInsideZeroAndOne) {
  double sum = 0, least = 1, largest = 0;
  constexpr int kCount = 200000;
  for (int32_t id = 0; id < kCount; ++id) {
    const double u = Uniform({.seed = 3}, Purpose::kToken, 0, id);
    sum += u;
    least = std::min(least, u);
    largest = std::max(largest, u);
  }
  EXPECT_GT(least, 0);
  EXPECT_LT(largest, 1);
  EXPECT_LT(least, 1e-4);
  EXPECT_GT(largest, 1 - 1e-4);
  // The mean of so many has standard deviation 0.00065: fails once in 10^9 keys.
  EXPECT_NEAR(sum / kCount, 0.5, 0.004);
}

// Neighbours in any part of the name are uncorrelated: r has standard deviation 0.01, so each
// check fails once in 10^9 keys.
TEST(NoiseTest, NeighboursAreIndependent) {
  static constexpr RandomKey kKey{.seed = 9, .position = 4};
  const auto correlation = [](auto other) {
    double sum = 0;
    for (int32_t i = 0; i < 10000; ++i) {
      const double a = Uniform(kKey, Purpose::kToken, 2, i);
      sum += 12 * (a - 0.5) * (other(i) - 0.5);
    }
    return sum / 10000;
  };
  EXPECT_NEAR(correlation([](int32_t i) { return Uniform(kKey, Purpose::kToken, 2, i); }), 1, 0.05);
  for (int which = 0; which < 5; ++which) {
    EXPECT_NEAR(correlation([&](int32_t i) {
                  RandomKey key = kKey;
                  key.seed += which == 0;
                  key.position += which == 1;
                  return Uniform(key, which == 2 ? Purpose::kXtcCoin : Purpose::kToken,
                                 which == 3 ? 3 : 2, which == 4 ? i ^ 1 : i);
                }),
                0, 0.062)
        << which;
  }
}

TEST(NoiseTest, GumbelIsTheDoubleLogarithmOfTheTokensUniform) {
  double sum = 0;
  for (int32_t id = 0; id < 100000; ++id) {
    const RandomKey key{.seed = 21, .position = 8};
    const double gumbel = GumbelNoise(key, 5, id);
    const double expected = -std::log(-std::log(Uniform(key, Purpose::kToken, 5, id)));
    ASSERT_NEAR(gumbel, expected, 1e-14 * (1 + std::abs(expected)));
    sum += gumbel;
  }
  EXPECT_NEAR(sum / 100000, 0.5772, 0.025);  // Euler's constant; 6 standard deviations
}

}  // namespace
}  // namespace tokendraw::sampling
