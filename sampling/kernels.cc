#include "sampling/kernels.h"

#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>

namespace tokendraw::sampling {
namespace {

// ln 2 as a sum of two doubles; the first has 21 trailing zero bits, so n * kLn2High is exact for
// abs(n) <= 2048.
constexpr double kLn2High = 0x1.62e42fee00000p-1;
constexpr double kLn2Low = 0x1.a39ef35793c76p-33;
constexpr double kLog2E = 0x1.71547652b82fep+0;
constexpr double kSqrtHalf = 0x1.6a09e667f3bcdp-1;

// Below this, e^x is not a normal number.
constexpr double kExpUnderflow = -708.0;

// Adding and subtracting 1.5 * 2^52 rounds to the nearest integer, ties to even.
constexpr double kRound = 0x1.8p52;

constexpr int kMantissaBits = 52;
constexpr int kExponentBias = 1023;

float DecodeF16(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000) << 16;
  const uint32_t exponent = (half >> 10) & 0x1f;
  const uint32_t mantissa = half & 0x3ff;
  if (exponent == 0) {  // zero or subnormal: mantissa * 2^-24
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return sign ? -magnitude : magnitude;
  }
  const uint32_t wide = exponent == 0x1f ? 0xff : exponent - 15 + 127;
  return std::bit_cast<float>(sign | wide << 23 | mantissa << 13);
}

float DecodeBF16(uint16_t upper) { return std::bit_cast<float>(uint32_t{upper} << 16); }

template <float (*decode)(uint16_t)>
void DecodeHalves(const void* data, std::span<float> out) {
  const auto* bytes = static_cast<const std::byte*>(data);
  for (size_t i = 0; i < out.size(); ++i) {
    uint16_t half;
    std::memcpy(&half, bytes + i * sizeof(half), sizeof(half));
    out[i] = decode(half);
  }
}

}  // namespace

static_assert(std::endian::native == std::endian::little, "rows are little-endian");

size_t ElementSize(DataType type) {
  return type == DataType::kF32 ? sizeof(float) : sizeof(uint16_t);
}

// e^x = 2^n * e^r with n = round(x / ln 2) and abs(r) <= ln(2) / 2; e^r is its Taylor series, whose
// first left-out term is below 2^-57.
double Exp(double x) {
  if (!(x >= kExpUnderflow)) return 0.0;
  const double n = (x * kLog2E + kRound) - kRound;
  const double r = (x - n * kLn2High) - n * kLn2Low;
  constexpr double kInverseFactorial[] = {1.0 / 6227020800.0, 1.0 / 479001600.0, 1.0 / 39916800.0,
                                          1.0 / 3628800.0,    1.0 / 362880.0,    1.0 / 40320.0,
                                          1.0 / 5040.0,       1.0 / 720.0,       1.0 / 120.0,
                                          1.0 / 24.0,         1.0 / 6.0,         0.5};
  double sum = 0;
  for (double coefficient : kInverseFactorial) sum = sum * r + coefficient;
  const double e_r = 1.0 + (r + r * r * sum);
  const auto exponent = static_cast<uint64_t>(static_cast<int64_t>(n) + kExponentBias);
  return e_r * std::bit_cast<double>(exponent << kMantissaBits);
}

// x = 2^n * f with f in [sqrt(1/2), sqrt(2)); ln f = 2 atanh(s), s = (f - 1) / (f + 1), as its
// Taylor series in s^2 <= 0.0295, whose first left-out term is below 2^-60.
double Log(double x) {
  constexpr uint64_t kMantissaMask = (uint64_t{1} << kMantissaBits) - 1;
  const auto bits = std::bit_cast<uint64_t>(x);
  int64_t n = static_cast<int64_t>(bits >> kMantissaBits) - (kExponentBias - 1);
  constexpr uint64_t kHalf = uint64_t{kExponentBias - 1} << kMantissaBits;
  double f = std::bit_cast<double>((bits & kMantissaMask) | kHalf);  // [1/2, 1)
  if (f < kSqrtHalf) {
    f = f + f;
    --n;
  }
  const double g = f - 1.0;  // exact
  const double s = g / (f + 1.0);
  const double z = s * s;
  constexpr double kOddInverse[] = {1.0 / 23, 1.0 / 21, 1.0 / 19, 1.0 / 17, 1.0 / 15, 1.0 / 13,
                                    1.0 / 11, 1.0 / 9,  1.0 / 7,  1.0 / 5,  1.0 / 3};
  double sum = 0;
  for (double coefficient : kOddInverse) sum = sum * z + coefficient;
  // ln f = 2 s + 2 s z sum, and 2 s = g - s g keeps the leading term exact.
  const double correction = s * (2.0 * z * sum - g);
  const auto exponent = static_cast<double>(n);
  return exponent * kLn2High + (g + (correction + exponent * kLn2Low));
}

double FixedOrderSum::Total() const {
  std::array<double, kPartials> sums = partial_;
  for (size_t width = kPartials / 2; width > 0; width /= 2) {
    for (size_t i = 0; i < width; ++i) sums[i] += sums[i + width];
  }
  return sums[0];
}

void DecodeRow(const LogitsRow& row, std::span<float> out) {
  switch (row.type) {
    case DataType::kF32:
      std::memcpy(out.data(), row.data, out.size_bytes());
      return;
    case DataType::kF16:
      DecodeHalves<DecodeF16>(row.data, out);
      return;
    case DataType::kBF16:
      DecodeHalves<DecodeBF16>(row.data, out);
      return;
  }
}

int32_t FirstNotFinite(std::span<const float> logits) {
  for (size_t i = 0; i < logits.size(); ++i) {
    if (!(logits[i] <= std::numeric_limits<float>::max())) return static_cast<int32_t>(i);
  }
  return -1;
}

}  // namespace tokendraw::sampling
