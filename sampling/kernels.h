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
#include <limits>
#include <optional>
#include <span>

#include "sampling/row_bytes.h"
#include "sampling/types.h"

namespace tokendraw::sampling {

inline constexpr size_t kPartials = 16;

// Rows are worked on in blocks of this many tokens.
inline constexpr size_t kBlockSize = 256;
constexpr size_t BlockCount(size_t tokens) { return (tokens + kBlockSize - 1) / kBlockSize; }

// A masked logit.
inline constexpr float kMasked = -std::numeric_limits<float>::infinity();

// The smallest logit that is not masked.
inline constexpr float kLowestFinite = std::numeric_limits<float>::lowest();

// Whether a logit is neither NaN nor +inf. It may be masked.
inline bool IsFinite(float logit) { return logit <= std::numeric_limits<float>::max(); }

// Kernels that write lists may write this many elements past the last.
inline constexpr size_t kListSlack = 16;

// ---- scalars (exp_log.cc)

// e^x for x <= 0 (-inf too), within 1 ulp; 0 where the result would not be a normal number.
double Exp(double x);

// e^x for any x; inf where 1 / e^x would not be a normal number.
inline double ExpOfAny(double x) { return x <= 0 ? Exp(x) : 1 / Exp(-x); }

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

// ---- rows (read_row.cc, row_sums.cc). A masked logit is -inf.

// A row is worked on as blocks of kBlockSize logits, wherever each of them lies. What is past the
// end of the row, in its last block, is -inf.
using Blocks = std::span<const float* const>;

// Which sums over a row are wanted, with y = (x - max) / temperature, max the largest logit. The
// exponentials are float32, within 2^-22 of the true value, and nothing counts below about e^-85;
// four of one partial are added before they become double.
struct SumRequest {
  enum class Kind { kNone, kExp, kWeighted, kSquared, kStddev };

  Kind kind = Kind::kNone;
  double temperature = 1;
};

// What was not asked for is 0; `exp` comes with `weighted` and with `squared`, in the same bits.
struct RowSums {
  double exp = 0;       // sum of e^y
  double weighted = 0;  // sum of y e^y
  double squared = 0;   // sum of e^2y
  double stddev = 0;    // population standard deviation of x; masked logits do not count
};

struct RowScan {
  float max = 0;       // of all logits that are not masked; -inf if all are
  bool finite = true;  // no NaN and no +inf came in
  // What was asked for, in the bits of SumRow. Nothing if that takes a look at the whole row first.
  std::optional<RowSums> sums;
};

// Takes the place of a token's logit.
struct Patch {
  int32_t id;
  float logit = 0;
};

// One pass over a row that decodes it, sets tokens whose bit in `allowed_mask` is 0 to -inf (no
// mask: null), puts `patches` (ascending by id) in place, and sums up what is left. Fills `blocks`
// and `block_max`: a block of float32 logits that nothing changes stays where it is, one with
// patches and the last go to their place in `room`, which is for whole blocks; of the others only
// the maximum is kept, and `blocks` is null: most are never looked at again.
RowScan ReadRow(const LogitsRow& row, const std::byte* allowed_mask, std::span<const Patch> patches,
                const SumRequest& request, float* room, std::span<const float*> blocks,
                std::span<float> block_max);

// One of those others: block `index` of a row, decoded and masked, to `logits`.
void ReadBlock(RowBytes& row, const std::byte* allowed_mask, size_t index, float* logits);

// The sums alone. block_max as from ReadRow; not all of it -inf.
RowSums SumRow(Blocks blocks, std::span<const float> block_max, const SumRequest& request);

// The logit of one token, as ReadRow decodes it.
float ReadLogit(RowBytes& row, int32_t id);

// ---- lists of tokens (compact.cc, lists.cc)

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

// keys[i] = -tempering(logits[i]).
void ListNegated(std::span<const float> logits, const Tempering& tempering, std::span<double> keys);

// keys[i] = abs(tempering(logits[i]) - center).
void ListDistances(std::span<const float> logits, const Tempering& tempering, double center,
                   std::span<double> keys);

// weights[i] = Exp(tempering(logits[i]) - tempering(max)). Returns their sum.
double ListWeights(std::span<const float> logits, float max, const Tempering& tempering,
                   std::span<double> weights);

// logits[i] = curve(tempering(logits[i])), rounded to float32 and at least kLowestFinite. With
// d = x - max:
struct SmoothingCurve {  // d^2 * (cube * d - square)
  double max, square, cube;
};
void ShapeList(const SmoothingCurve& curve, const Tempering& tempering, std::span<float> logits);
struct AdaptiveCurve {  // 5 - 10 * q^2 / (1 + q), q = abs(e^d / sum - aim) / 0.3
  double max, sum, aim;
};
void ShapeList(const AdaptiveCurve& curve, const Tempering& tempering, std::span<float> logits);

// The largest of them, or -inf.
float ListMax(std::span<const float> logits);

struct KeyRange {
  double min, max;
};
KeyRange RangeOf(std::span<const double> keys);  // not empty

// bins[i] = (keys[i] - min) * bins_per_key, rounded down, but not above `last`.
void FindBins(std::span<const double> keys, double min, double bins_per_key, int32_t last,
              std::span<int32_t> bins);

// The indices i with bins[i] == bin, in order; as many as there are, which is returned.
size_t FindInBin(std::span<const int32_t> bins, int32_t bin, uint32_t* indices);

// Moves what has a key <= limit, or < limit, to the front of `ids` and `logits`, in order. Returns
// its number. `out` is where the front is, at or before `first`; elements from `first` on have the
// keys.
enum class Limit { kAtMost, kBelow };
size_t CompressList(std::span<const double> keys, Limit kind, double limit, size_t first,
                    size_t out, int32_t* ids, float* logits);

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
