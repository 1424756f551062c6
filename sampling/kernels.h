// The arithmetic that decides tokens: the same bits on every CPU and compiler. The only door to
// SIMD: kernels/ holds the loops, compiled for every instruction set and chosen when the program
// starts.
//
// exp and log are our own, made of separate multiplies and adds (libm's differ between machines,
// and a fused multiply-add rounds once where two operations round twice). Sums are double, in 16
// partial sums, element i in partial i mod 16, folded in one fixed order. The project is built with
// -ffp-contract=off.
#ifndef TOKENDRAW_SAMPLING_KERNELS_H_
#define TOKENDRAW_SAMPLING_KERNELS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "sampling/types.h"

namespace tokendraw::sampling {

inline constexpr size_t kPartials = 16;

// Rows are worked on in blocks of this many tokens.
inline constexpr size_t kBlockSize = 256;
constexpr size_t BlockCount(size_t tokens) { return (tokens + kBlockSize - 1) / kBlockSize; }

// Kernels that write lists may write this many elements past the last.
inline constexpr size_t kListSlack = 16;

// ---- scalars (exp_log.cc)

// e^x for x <= 0 (-inf too), within 1 ulp; 0 where the result would not be a normal number.
double Exp(double x);

// ln x for normal positive x, within 1 ulp.
double Log(double x);

// Folds partial sums into their total.
double Fold(std::array<double, kPartials> partials);

// Sum of doubles in the fixed order. Values must be added in index order.
class FixedOrderSum {
 public:
  void Add(double value) { partials_[count_++ % kPartials] += value; }
  double Total() const { return Fold(partials_); }

 private:
  std::array<double, kPartials> partials_{};
  size_t count_ = 0;
};

// ---- rows (read_row.cc). A masked logit is -inf.

struct RowScan {
  float max = 0;       // of all logits that are not masked; -inf if all are
  bool finite = true;  // no NaN and no +inf came in
};

// Reads a row, once: decodes it into `logits` (room for whole blocks; what is past the row becomes
// -inf), sets tokens whose bit in `allowed_mask` is 0 to -inf (no mask: null), and fills block_max.
RowScan ReadRow(const LogitsRow& row, const std::byte* allowed_mask, float* logits,
                std::span<float> block_max);

// The same statistics of logits that are in place.
RowScan ScanRow(std::span<const float> logits, std::span<float> block_max);

// Index of the first NaN or +inf, or -1.
int32_t FirstNotFinite(std::span<const float> logits);

// ---- statistics of a row (row_sums.cc). `max` is the largest logit, masked logits do not count.

// Sums over the row with y = (x - max) / temperature. The exponentials are float32, within 2^-22 of
// the true value, and 0 below about e^-85; four of one partial are added before they become double.
double SumExp(std::span<const float> logits, float max, double temperature);  // sum of e^y

struct WeightedSums {
  double exp = 0;       // sum of e^y
  double weighted = 0;  // sum of y e^y
};
WeightedSums SumExpWeighted(std::span<const float> logits, float max, double temperature);

struct SquaredSums {
  double exp = 0;      // sum of e^y
  double squares = 0;  // sum of e^2y
};
SquaredSums SumExpSquared(std::span<const float> logits, float max, double temperature);

struct PlainSums {
  double count = 0;
  double sum = 0;      // of x - max
  double squares = 0;  // of (x - max)^2
};
PlainSums SumDeviations(std::span<const float> logits, float max);

// ---- lists of tokens (lists.cc)

// Appends to `ids` and `found` the tokens with low <= x <= high, in order; ids count from first_id.
// Returns their number. Both need room for logits.size() + kListSlack.
size_t FindBetween(std::span<const float> logits, int32_t first_id, float low, float high,
                   int32_t* ids, float* found);

// The value of a logit: (x - pivot) / temperature, but not below `lowest`. The defaults are x.
struct Tempering {
  double pivot = 0;
  double temperature = 1;

  // Ratios too large for a double's square stop here, where e^x is 0, so that sums stay finite.
  static constexpr double kLowest = -1e150;
  bool IsIdentity() const { return pivot == 0 && temperature == 1; }
  double operator()(float x) const {
    if (IsIdentity()) return x;
    const double value = (static_cast<double>(x) - pivot) / temperature;
    return value > kLowest ? value : kLowest;
  }
};

// keys[i] = abs(tempering(logits[i]) - center).
void ListDistances(std::span<const float> logits, const Tempering& tempering, double center,
                   std::span<double> keys);

// weights[i] = Exp(tempering(logits[i]) - tempering(max)). Returns their sum.
double ListWeights(std::span<const float> logits, float max, const Tempering& tempering,
                   std::span<double> weights);

// ---- noise (noise_words.cc)

// What Philox is keyed by, beside the token id: counter words 1 to 3, and the key.
struct NoiseKey {
  std::array<uint32_t, 2> key;
  std::array<uint32_t, 3> counter;
};

// A token whose noise has a large upper 32-bit word.
struct LoudToken {
  uint32_t position;
  uint32_t word;
};
using LoudTokens = std::array<LoudToken, kBlockSize + kListSlack>;

// The tokens whose upper word is >= threshold, by position: of first_id + i (first_id even) for
// i < count, or of ids[i]. Returns their number. count <= kBlockSize.
size_t FindNoise(const NoiseKey& key, int32_t first_id, size_t count, uint32_t threshold,
                 LoudTokens& found);
size_t FindNoise(const NoiseKey& key, std::span<const int32_t> ids, uint32_t threshold,
                 LoudTokens& found);

// Name of the instruction set that the kernels run with, such as "AVX2".
const char* SimdTarget();

}  // namespace tokendraw::sampling

#endif  // TOKENDRAW_SAMPLING_KERNELS_H_
