// The arithmetic that decides tokens: same bits on every CPU and compiler.
//
// exp and log are our own, made of separate multiplies and adds (libm's differ between machines,
// and a fused multiply-add rounds once where two operations round twice). Sums have 16 partial
// sums, element i in partial i mod 16, folded in one fixed order. The project is built with
// -ffp-contract=off.
#ifndef TOKENDRAW_SAMPLING_KERNELS_H_
#define TOKENDRAW_SAMPLING_KERNELS_H_

#include <array>
#include <cstddef>
#include <span>

#include "sampling/types.h"

namespace tokendraw::sampling {

// e^x for x <= 0 (-inf too), within 1 ulp; 0 where the result would not be a normal number.
double Exp(double x);

// ln x for normal positive x, within 1 ulp.
double Log(double x);

// Sum of doubles in the fixed order. Values must be added in index order.
class FixedOrderSum {
 public:
  void Add(double value) { partial_[count_++ % kPartials] += value; }
  double Total() const;

 private:
  static constexpr size_t kPartials = 16;
  std::array<double, kPartials> partial_{};
  size_t count_ = 0;
};

// Copies a row into float32, exactly. `out` has row.vocab_size elements.
void DecodeRow(const LogitsRow& row, std::span<float> out);

// Index of the first NaN or +inf, or -1.
int32_t FirstNotFinite(std::span<const float> logits);

}  // namespace tokendraw::sampling

#endif  // TOKENDRAW_SAMPLING_KERNELS_H_
