#include "sampling/kernels/exp_log.h"

#include <bit>

#include "sampling/kernels.h"

namespace tokendraw::sampling {
namespace {

constexpr double kSqrtHalf = 0x1.6a09e667f3bcdp-1;
constexpr int kMantissaBits = 52;
constexpr int kExponentBias = 1023;

}  // namespace

double Exp(double x) {
  using namespace exp_constants;
  if (!(x >= kUnderflow)) return 0.0;
  const double t = x * kLog2E + kRound;
  const double n = t - kRound;
  const double r = (x - n * kLn2High) - n * kLn2Low;
  const double r2 = r * r;
  const double r4 = r2 * r2;
  const auto pair = [&](size_t i) { return kTaylor[i] + kTaylor[i + 1] * r; };
  const double low = pair(0) + pair(2) * r2;
  const double middle = pair(4) + pair(6) * r2;
  const double high = pair(8) + pair(10) * r2;
  const double q = low + (middle + high * r4) * r4;
  const double e_r = 1.0 + (r + r2 * q);
  return std::bit_cast<double>(std::bit_cast<uint64_t>(e_r) +
                               (std::bit_cast<uint64_t>(t) << kMantissaBits));
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
  return exponent * exp_constants::kLn2High +
         (g + (correction + exponent * exp_constants::kLn2Low));
}

double Fold(std::array<double, kPartials> partials) {
  for (size_t width = kPartials / 2; width > 0; width /= 2) {
    for (size_t i = 0; i < width; ++i) partials[i] += partials[i + width];
  }
  return partials[0];
}

}  // namespace tokendraw::sampling
