// Values one by one: in order, and replaced.
#include <algorithm>
#include <functional>

#include "sampling/support.h"

namespace tokendraw::sampling {

std::span<double> Support::Descending(size_t count) {
  if (is_open() && count > list_.size) Undecide();
  if (!listed_) FindInRow(LowestOfFirst(count), max_, found_);
  const std::span<double> values = ValuesOf(listed_ ? list_ : found_);
  const std::span<double> first = values.first(std::min(count, values.size()));
  std::partial_sort(first.begin(), first.end(), values.end(), std::greater<>());
  return first;
}

std::span<double> Support::DescendingWithin(double reach) {
  const double lowest = Max() - reach;
  if (!listed_) FindInRow(LowestLogit([=](double x) { return x >= lowest; }), max_, found_);
  const std::span<double> values = ValuesOf(listed_ ? list_ : found_);
  const auto end =
      std::partition(values.begin(), values.end(), [=](double x) { return x >= lowest; });
  std::sort(values.begin(), end, std::greater<>());
  return {values.begin(), end};
}

// In keys_, which nothing else needs at the same time.
std::span<double> Support::ValuesOf(const List& list) {
  keys_.resize(std::max(keys_.size(), list.size));
  const std::span<double> values = std::span(keys_).first(list.size);
  std::ranges::transform(list.logits(), values.begin(), tempering_);
  return values;
}

void Support::Reshape(absl::FunctionRef<void(const Tempering&, std::span<float>)> shape) {
  if (is_open()) return Undecide();
  ListAll();
  origin_ += Max();
  shape(tempering_, std::span(list_.logit_room).first(list_.size));
  tempering_ = {};
  reshaped_ = true;
  max_ = ListMax(list_.logits());
  weights_valid_ = false;
}

}  // namespace tokendraw::sampling
