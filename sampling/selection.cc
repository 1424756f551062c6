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

struct Range {
  double min, max;
};

// Smallest and largest of keys[index(i)] for i < count, four at a time.
template <typename Index>
Range RangeOf(std::span<const double> keys, size_t count, const Index& index) {
  std::array<double, 4> min, max;
  min.fill(keys[index(0)]);
  max = min;
  size_t i = 0;
  for (; i + 4 <= count; i += 4) {
    for (size_t j = 0; j < 4; ++j) {
      const double key = keys[index(i + j)];
      min[j] = key < min[j] ? key : min[j];
      max[j] = key > max[j] ? key : max[j];
    }
  }
  for (; i < count; ++i) {
    min[0] = std::min(min[0], keys[index(i)]);
    max[0] = std::max(max[0], keys[index(i)]);
  }
  return {*std::ranges::min_element(min), *std::ranges::max_element(max)};
}

}  // namespace

// Of the undecided tokens keys[index(i)], i < count, keeps those in the bin where the cut is, which
// the weights of the bins tell. Returns false if the keys are all equal, or nearly.
template <typename Index>
bool Selection::Narrow(const List& list, size_t count, const Index& index) {
  const Range range = RangeOf(list.keys, count, index);
  const Bins bins(range.min, range.max);
  if (!bins.usable()) return false;
  std::array<double, kBins> bin_weight{};
  std::array<uint32_t, kBins> bin_count{};
  bin_of_.resize(std::max(bin_of_.size(), count));
  for (size_t i = 0; i < count; ++i) {
    const size_t bin = bins.Of(list.keys[index(i)]);
    bin_of_[i] = static_cast<uint8_t>(bin);
    bin_weight[bin] += list.weights[index(i)];
    ++bin_count[bin];
  }
  size_t bin = 0;
  while (bin + 1 < kBins && (before_.weight + bin_weight[bin] < list.mass ||
                             before_.count + bin_count[bin] < list.least)) {
    before_.weight += bin_weight[bin];
    before_.count += bin_count[bin];
    ++bin;
  }
  undecided_.resize(std::max<size_t>(undecided_.size(), bin_count[bin]));
  size_t size = 0;
  for (size_t i = 0; i < count; ++i) {
    if (bin_of_[i] == bin) undecided_[size++] = static_cast<uint32_t>(index(i));
  }
  undecided_.resize(size);
  return true;
}

void Selection::Reserve(size_t size) {
  undecided_.reserve(size);
  bin_of_.reserve(size);
  ranks_.reserve(size);
}

Cut Selection::AtMass(std::span<const double> keys, std::span<const double> weights, double mass,
                      size_t least) {
  const List list = {keys, weights, mass, least};
  before_ = {};
  const bool narrowed = keys.size() > kFew && Narrow(list, keys.size(), [](size_t i) { return i; });
  if (!narrowed) {
    undecided_.resize(keys.size());
    std::iota(undecided_.begin(), undecided_.end(), 0);
  }
  while (undecided_.size() > kFew &&
         Narrow(list, undecided_.size(), [this](size_t i) { return undecided_[i]; })) {
  }
  const auto by_key = [&](uint32_t a, uint32_t b) {
    return keys[a] != keys[b] ? keys[a] < keys[b] : a < b;
  };
  if (!std::is_sorted(undecided_.begin(), undecided_.end(), by_key)) {
    std::sort(undecided_.begin(), undecided_.end(), by_key);
  }
  size_t last = 0;
  for (size_t i = 0; i < undecided_.size() && (before_.weight < mass || before_.count < least);
       ++i) {
    before_.weight += weights[undecided_[i]];
    ++before_.count;
    last = i;
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
