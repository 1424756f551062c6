#include "sampling/selection.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace tokendraw::sampling {
namespace {

// So few are sorted.
constexpr size_t kFew = 48;

constexpr size_t kBins = 256;

// Equal parts of a range of keys. Which bin a key is in never decreases with the key.
class Bins {
 public:
  Bins(double min, double max) : min_(min), per_key_(kBins / (max - min)) {}

  bool usable() const { return std::isfinite(per_key_); }  // not if all keys are equal, or nearly
  size_t Of(double key) const {
    return std::min(static_cast<size_t>((key - min_) * per_key_), kBins - 1);
  }

 private:
  double min_;
  double per_key_;
};

}  // namespace

// The weights of bins tell in which bin the cut is; what is in that bin stays undecided.
Cut Selection::AtMass(std::span<const double> keys, std::span<const double> weights, double mass,
                      size_t least) {
  undecided_.resize(keys.size());
  std::iota(undecided_.begin(), undecided_.end(), 0);
  double before = 0;
  size_t count = 0;
  while (undecided_.size() > kFew) {
    double min = keys[undecided_[0]], max = min;
    for (const uint32_t i : undecided_) {
      min = std::min(min, keys[i]);
      max = std::max(max, keys[i]);
    }
    const Bins bins(min, max);
    if (!bins.usable()) break;
    std::array<double, kBins> bin_weight{};
    std::array<uint32_t, kBins> bin_count{};
    for (const uint32_t i : undecided_) {
      const size_t bin = bins.Of(keys[i]);
      bin_weight[bin] += weights[i];
      ++bin_count[bin];
    }
    size_t bin = 0;
    while (bin + 1 < kBins && (before + bin_weight[bin] < mass || count + bin_count[bin] < least)) {
      before += bin_weight[bin];
      count += bin_count[bin];
      ++bin;
    }
    std::erase_if(undecided_, [&](uint32_t i) { return bins.Of(keys[i]) != bin; });
  }
  const auto by_key = [&](uint32_t a, uint32_t b) {
    return keys[a] != keys[b] ? keys[a] < keys[b] : a < b;
  };
  if (!std::is_sorted(undecided_.begin(), undecided_.end(), by_key)) {
    std::sort(undecided_.begin(), undecided_.end(), by_key);
  }
  size_t last = 0;
  for (size_t next = 0; next < undecided_.size() && (before < mass || count < least); ++next) {
    before += weights[undecided_[next]];
    ++count;
    last = next;
  }
  return {keys[undecided_[last]], undecided_[last]};
}

Cut Selection::AtCount(std::span<const double> keys, size_t count) {
  ranks_.resize(keys.size());
  for (size_t i = 0; i < keys.size(); ++i) ranks_[i] = {keys[i], i};
  const auto last = ranks_.begin() + static_cast<std::ptrdiff_t>(count - 1);
  std::nth_element(ranks_.begin(), last, ranks_.end(), [](const Cut& a, const Cut& b) {
    return a.key != b.key ? a.key < b.key : a.index < b.index;
  });
  return *last;
}

}  // namespace tokendraw::sampling
