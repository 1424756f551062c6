#include "sampling/kernels.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "tests/sampling/testing.h"

namespace tokendraw::sampling {
namespace {

// Distance from the true value in units of the last place of `actual`.
double Ulps(double actual, long double expected) {
  const double ulp = std::nextafter(std::abs(actual), HUGE_VAL) - std::abs(actual);
  return static_cast<double>(std::abs(static_cast<long double>(actual) - expected) / ulp);
}

TEST(KernelsTest, ExpIsWithinOneUlp) {
  std::mt19937_64 random(1);
  double worst = 0;
  const auto check = [&](double x) {
    worst = std::max(worst, Ulps(Exp(x), std::exp(static_cast<long double>(x))));
  };
  for (int i = 0; i < 200000; ++i) {
    check(-std::uniform_real_distribution<double>(0, 708)(random));
    check(-std::uniform_real_distribution<double>(0, 2)(random));
    check(-std::exp(std::uniform_real_distribution<double>(-700, 0)(random)));
  }
  for (int n = 0; n < 1021; ++n) {  // around the places where the exponent changes
    const double turn = -(n + 0.5) * std::log(2.0);
    for (const double x : {turn, std::nextafter(turn, 0.0), std::nextafter(turn, -1e9)}) check(x);
  }
  EXPECT_LT(worst, 1.0);
}

TEST(KernelsTest, ExpAtTheEnds) {
  EXPECT_EQ(Exp(0.0), 1.0);
  EXPECT_EQ(Exp(-0.0), 1.0);
  EXPECT_EQ(Exp(-0x1p-1074), 1.0);
  EXPECT_GT(Exp(-708.0), 0.0);
  EXPECT_TRUE(std::isnormal(Exp(-708.0)));
  for (const double x : {-709.0, -746.0, -1e4, -1e308, -double{kInf}}) EXPECT_EQ(Exp(x), 0.0);
}

TEST(KernelsTest, ExpNeverDecreases) {
  double previous = 0;
  for (int i = 0; i <= 1000000; ++i) {
    const double value = Exp((i - 1000000) * 1e-4);
    ASSERT_GE(value, previous) << i;
    previous = value;
  }
}

TEST(KernelsTest, LogIsWithinOneUlp) {
  std::mt19937_64 random(2);
  double worst = 0;
  const auto check = [&](double x) {
    worst = std::max(worst, Ulps(Log(x), std::log(static_cast<long double>(x))));
  };
  for (int i = 0; i < 200000; ++i) {
    check(std::uniform_real_distribution<double>(0, 1)(random));
    check(std::uniform_real_distribution<double>(0.5, 2)(random));
    check(1 + std::exp(std::uniform_real_distribution<double>(-36, 0)(random)));
    check(1 - std::exp(std::uniform_real_distribution<double>(-36, -1)(random)));
    check(std::exp(std::uniform_real_distribution<double>(-708, 709)(random)));
  }
  for (const double turn : {std::sqrt(0.5), 0.5, std::sqrt(2.0), 1.0, 2.0}) {
    check(std::nextafter(turn, 0.0));
    check(std::nextafter(turn, 4.0));
    if (turn != 1.0) check(turn);
  }
  check(0x1p-1022);
  check(std::numeric_limits<double>::max());
  check(1.0 - 0x1p-53);
  check(0x1p-54);
  EXPECT_LT(worst, 1.0);
  EXPECT_EQ(Log(1.0), 0.0);
  EXPECT_EQ(Log(2.0), std::log(2.0));
}

// FNV-1a over the bits of `value`.
uint64_t Hash(uint64_t hash, double value) {
  const auto bits = std::bit_cast<uint64_t>(value);
  for (int shift = 0; shift < 64; shift += 8)
    hash = (hash ^ (bits >> shift & 0xff)) * 0x100000001b3;
  return hash;
}

// Other bits here are other tokens somewhere: a new version of the semantics. Both numbers are the
// same on every CPU and with every compiler.
TEST(KernelsTest, BitsArePinned) {
  uint64_t exp_hash = 0xcbf29ce484222325, log_hash = exp_hash, bits = 1;
  for (int i = 0; i < 200000; ++i) {
    bits = bits * 6364136223846793005 + 1442695040888963407;
    const double u = (static_cast<double>(bits >> 11) + 0.5) * 0x1p-53;
    exp_hash = Hash(exp_hash, Exp(u * (i % 2 == 0 ? -8.0 : -708.0)));
    log_hash = Hash(log_hash, Log(i % 2 == 0 ? u : u * 0x1p60));
  }
  EXPECT_EQ(exp_hash, 0x8d5f75fdde453836ULL);
  EXPECT_EQ(log_hash, 0x50b59d491b1e398aULL);
}

// As above, for the sums over rows and lists. The logits are made of integers.
TEST(KernelsTest, BitsOfSumsArePinned) {
  uint64_t hash = 0xcbf29ce484222325, bits = 1;
  std::vector<double> weights;
  for (const size_t size : {1u, 100u, 1000u, 5000u}) {
    Row row;
    for (size_t i = 0; i < size; ++i) {
      bits = bits * 6364136223846793005 + 1442695040888963407;
      row.push_back(static_cast<float>(bits >> 40) * 0x1p-20f - 8);
    }
    FloatRow blocks;
    blocks.Read(InputOf(row).logits, nullptr, {}, {});
    const float max = blocks.max();
    const auto sums = [&](SumRequest::Kind kind, double temperature) {
      return SumRow(blocks.blocks(), blocks.block_max(), {kind, temperature});
    };
    for (const double temperature : {1.0, 0.7, 1e-4}) {
      const RowSums weighted = sums(SumRequest::Kind::kWeighted, temperature);
      const RowSums squared = sums(SumRequest::Kind::kSquared, temperature);
      weights.resize(size);
      const double listed = ListWeights(row, max, {max, temperature}, weights);
      for (const double value :
           {weighted.exp, weighted.weighted, squared.exp, squared.squared, listed}) {
        hash = Hash(hash, value);
      }
      EXPECT_NEAR(weighted.exp, listed, 1e-6 * listed);
    }
    hash = Hash(hash, sums(SumRequest::Kind::kStddev, 1).stddev);
  }
  EXPECT_EQ(hash, 0xcc7ba54c2c9964b6ULL);
}

TEST(KernelsTest, SumHasSixteenPartialsInAFixedOrder) {
  std::mt19937_64 random(3);
  int differing = 0;
  for (const size_t size : {0u, 1u, 15u, 16u, 17u, 100u, 1000u, 4099u}) {
    std::vector<double> values(size);
    // Of very different sizes, so that another order gives other bits.
    for (double& value : values) {
      value = std::exp(std::uniform_real_distribution<double>(-40, 40)(random));
    }
    FixedOrderSum sum;
    double p[16] = {}, plain = 0;
    for (size_t i = 0; i < size; ++i) {
      sum.Add(values[i]);
      p[i % 16] += values[i];
      plain += values[i];
    }
    const auto four = [&](size_t i) {
      return ((p[i] + p[i + 8]) + (p[i + 4] + p[i + 12])) +
             ((p[i + 2] + p[i + 10]) + (p[i + 6] + p[i + 14]));
    };
    EXPECT_EQ(sum.Total(), four(0) + four(1)) << size;
    EXPECT_EQ(sum.Total(), sum.Total());
    differing += sum.Total() != plain;
    EXPECT_NEAR(sum.Total(), plain, 1e-13 * plain);
  }
  EXPECT_GE(differing, 3);  // the order did matter
}

Row Decoded(const LogitsRow& row) {
  const size_t blocks = BlockCount(static_cast<size_t>(row.vocab_size));
  Row logits(blocks * kBlockSize, kNan), block_max(blocks);
  std::vector<const float*> places(blocks);
  ReadRow(row, nullptr, {}, {}, logits.data(), places, block_max);
  DecodeRest(row, nullptr, logits.data(), places);
  Row decoded;
  for (size_t i = 0; i < static_cast<size_t>(row.vocab_size); ++i) {
    decoded.push_back(places[i / kBlockSize][i % kBlockSize]);
  }
  return decoded;
}

float DecodeOne(uint16_t bits, DataType type) {
  const float value = LogitAt({&bits, type, 1}, 0);
  const float decoded = Decoded({&bits, type, 1})[0];
  EXPECT_EQ(std::bit_cast<uint32_t>(value), std::bit_cast<uint32_t>(decoded));
  return value;
}

TEST(KernelsTest, DecodesAllF16) {
  int nans = 0;
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const float value = DecodeOne(static_cast<uint16_t>(bits), DataType::kF16);
    const int exponent = static_cast<int>(bits >> 10 & 31),
              fraction = static_cast<int>(bits & 1023);
    ASSERT_EQ(std::signbit(value), bits >= 0x8000) << bits;
    if (exponent == 31 && fraction != 0) {
      ASSERT_TRUE(std::isnan(value)) << bits;
      ++nans;
    } else if (exponent == 31) {
      ASSERT_TRUE(std::isinf(value)) << bits;
    } else {
      const double expected =
          exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
      ASSERT_EQ(std::abs(value), expected) << bits;
    }
  }
  EXPECT_EQ(nans, 2 * 1023);
}

TEST(KernelsTest, DecodesAllBF16) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const float value = DecodeOne(static_cast<uint16_t>(bits), DataType::kBF16);
    ASSERT_EQ(std::bit_cast<uint32_t>(value), bits << 16);
  }
  EXPECT_EQ(DecodeOne(0x3fc0, DataType::kBF16), 1.5f);
  EXPECT_EQ(DecodeOne(0x0001, DataType::kBF16), 0x1p-133f);  // subnormal
  EXPECT_EQ(DecodeOne(0xff80, DataType::kBF16), -kInf);
  EXPECT_TRUE(std::isnan(DecodeOne(0x7fc0, DataType::kBF16)));
}

TEST(KernelsTest, DecodesAtAnyAlignment) {
  const Row row = {1.5f, -2, 0.25f, -kInf, 3, 0.0f, -0.5f};
  EXPECT_EQ(ElementSize(DataType::kF32), 4u);
  EXPECT_EQ(ElementSize(DataType::kF16), 2u);
  EXPECT_EQ(ElementSize(DataType::kBF16), 2u);
  for (const DataType type : {DataType::kF32, DataType::kBF16}) {
    const size_t size = ElementSize(type);
    for (size_t shift = 0; shift < 8; ++shift) {
      std::vector<char> bytes(shift + row.size() * size);
      for (size_t i = 0; i < row.size(); ++i) {  // BF16 is the upper half, and little-endian
        std::memcpy(&bytes[shift + i * size],
                    reinterpret_cast<const char*>(&row[i]) + sizeof(float) - size, size);
      }
      EXPECT_EQ(Decoded({bytes.data() + shift, type, static_cast<int32_t>(row.size())}), row)
          << shift;
    }
  }
}

TEST(KernelsTest, F32KeepsEveryBit) {
  const Row row = {kNan, -kNan, kInf, -0.0f, 0x1p-149f, 3.4e38f};
  const Row decoded = Decoded({row.data(), DataType::kF32, 6});
  EXPECT_EQ(std::memcmp(row.data(), decoded.data(), sizeof(float) * row.size()), 0);
}

}  // namespace
}  // namespace tokendraw::sampling
