#include "sampling/selection.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "sampling/kernels.h"

namespace tokendraw::sampling {
namespace {

// So few are sorted.
constexpr size_t kFew = 48;

constexpr size_t kBins = 256;

}  // namespace

void Selection::Reserve(size_t size) {
  keys_.reserve(size);
  weights_.reserve(size);
  indices_.reserve(size);
  bins_.reserve(size);
  found_.reserve(size);
  ranks_.reserve(size);
}

// Cuts the range of the undecided keys into equal bins, and leaves undecided only the one where the
// cut is, which the weights of the bins tell. False if the keys are all equal, or nearly.
bool Selection::Narrow(const Goal& goal, Undecided& undecided, Before& before) {
  const size_t count = undecided.keys.size();
  const KeyRange range = RangeOf(undecided.keys);
  const double bins_per_key = kBins / (range.max - range.min);
  if (!std::isfinite(bins_per_key)) return false;
  bins_.resize(std::max(bins_.size(), count));
  FindBins(undecided.keys, range.min, bins_per_key, kBins - 1, bins_);
  std::array<double, kBins> bin_weight{};
  std::array<uint32_t, kBins> bin_count{};
  for (size_t i = 0; i < count; ++i) {
    const auto bin = static_cast<size_t>(bins_[i]);
    bin_weight[bin] += undecided.weights[i];
    ++bin_count[bin];
  }
  size_t bin = 0;
  for (; bin + 1 < kBins; ++bin) {
    const Before with = {before.weight + bin_weight[bin], before.count + bin_count[bin]};
    if (goal.IsReached(with)) break;
    before = with;
  }

  const size_t size = bin_count[bin];
  found_.resize(std::max(found_.size(), size));
  keys_.resize(std::max(keys_.size(), size));
  weights_.resize(std::max(weights_.size(), size));
  indices_.resize(std::max(indices_.size(), size));
  FindInBin(std::span(bins_).first(count), static_cast<int32_t>(bin), found_.data());
  for (size_t i = 0; i < size; ++i) {  // what is read is never behind what is written
    keys_[i] = undecided.keys[found_[i]];
    weights_[i] = undecided.weights[found_[i]];
    indices_[i] = undecided.index(found_[i]);
  }
  undecided = {std::span(keys_).first(size), std::span(weights_).first(size),
               std::span(indices_).first(size)};
  return true;
}

Cut Selection::AtMass(std::span<const double> keys, std::span<const double> weights, double mass,
                      size_t least) {
  const Goal goal = {mass, least};
  Undecided undecided = {keys, weights, {}};
  Before before;
  while (undecided.keys.size() > kFew && Narrow(goal, undecided, before)) {
  }
  found_.resize(std::max(found_.size(), undecided.keys.size()));
  const std::span<uint32_t> order = std::span(found_).first(undecided.keys.size());
  std::iota(order.begin(), order.end(), 0);
  const auto by_key = [&](uint32_t a, uint32_t b) {
    return undecided.keys[a] != undecided.keys[b] ? undecided.keys[a] < undecided.keys[b] : a < b;
  };
  if (!std::is_sorted(order.begin(), order.end(), by_key)) {
    std::sort(order.begin(), order.end(), by_key);
  }
  uint32_t last = 0;
  for (size_t i = 0; i < order.size() && !goal.IsReached(before); ++i) {
    last = order[i];
    before.weight += undecided.weights[last];
    ++before.count;
  }
  return {undecided.keys[last], undecided.index(last)};
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
