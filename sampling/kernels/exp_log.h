// Constants of the double exponential, which exists as a scalar (exp_log.cc) and as a vector
// (lists.cc); both are the same operations in the same order.
//
// e^x = 2^n * e^r with n = round(x / ln 2) and abs(r) <= ln(2) / 2; e^r = 1 + r + r^2 q, q the
// Taylor series of (e^r - 1 - r) / r^2, whose first left-out term is below 2^-57. The sum t = x /
// ln 2 + kRound holds n in its lowest bits: shifted to the exponent and added there, they multiply
// by 2^n.
#ifndef TOKENDRAW_SAMPLING_KERNELS_EXP_LOG_H_
#define TOKENDRAW_SAMPLING_KERNELS_EXP_LOG_H_

namespace tokendraw::sampling::exp_constants {

// ln 2 as a sum of two doubles; the first has 21 trailing zero bits, so n * kLn2High is exact for
// abs(n) <= 2048.
inline constexpr double kLn2High = 0x1.62e42fee00000p-1;
inline constexpr double kLn2Low = 0x1.a39ef35793c76p-33;
inline constexpr double kLog2E = 0x1.71547652b82fep+0;

// Adding and subtracting 1.5 * 2^52 rounds to the nearest integer, ties to even.
inline constexpr double kRound = 0x1.8p52;

// Below this, e^x is not a normal number.
inline constexpr double kUnderflow = -708.0;

// 1 / (i + 2)!
inline constexpr double kTaylor[] = {0.5,
                                     1.0 / 6.0,
                                     1.0 / 24.0,
                                     1.0 / 120.0,
                                     1.0 / 720.0,
                                     1.0 / 5040.0,
                                     1.0 / 40320.0,
                                     1.0 / 362880.0,
                                     1.0 / 3628800.0,
                                     1.0 / 39916800.0,
                                     1.0 / 479001600.0,
                                     1.0 / 6227020800.0};

}  // namespace tokendraw::sampling::exp_constants

#endif  // TOKENDRAW_SAMPLING_KERNELS_EXP_LOG_H_
