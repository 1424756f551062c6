#include "sampling/support.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>

namespace tokendraw::sampling {
namespace {

constexpr float kLowestFinite = std::numeric_limits<float>::lowest();

// Floats as integers of the same order, and back.
int32_t Ordinal(float x) {
  const auto bits = std::bit_cast<int32_t>(x);
  return bits < 0 ? std::numeric_limits<int32_t>::min() - bits : bits;
}
float FromOrdinal(int32_t ordinal) {
  return std::bit_cast<float>(ordinal < 0 ? std::numeric_limits<int32_t>::min() - ordinal
                                          : ordinal);
}

// How far from its center an order has to reach to hold `mass`, if the softmax were normal. A guess
// that is a little too far costs less than one that is too short.
double GuessReach(double mass, const Order& order, const WeightedSums& sums) {
  const double mean = sums.mean / sums.exp;
  const double variance = std::max(sums.squares / sums.exp - mean * mean, 0.0);
  const bool one_sided = order.by == Order::By::kLargest;
  const double outside = one_sided ? std::min(2 * (1 - mass), 1.0) : 1 - mass;
  const double deviations = 0.9 * std::sqrt(-2 * Log(outside)) + 0.1;
  return (one_sided ? -mean : 0.0) + deviations * std::sqrt(variance);
}

}  // namespace

void Support::Reset(const FloatRow& row) {
  row_ = &row;
  listed_ = false;
  max_ = row.max();
  tempering_ = {};
  tempered_ = false;
  row_sums_.reset();
  weights_valid_ = false;
  if (row.logits().size() <= kListedVocab) ListAll();
}

void Support::CopyFrom(const Support& other) {
  row_ = other.row_;
  listed_ = other.listed_;
  if (listed_) list_ = other.list_;
  max_ = other.max_;
  tempering_ = other.tempering_;
  tempered_ = other.tempered_;
  row_sums_ = other.row_sums_;
  weights_valid_ = false;
}

void Support::ListAll() {
  if (!listed_) ListBetween(kLowestFinite, max_);
}

// Blocks whose largest logit is too small are not looked at.
void Support::FindInRow(float low, float high, List& list) const {
  const size_t room = row_->logits().size() + kListSlack;
  list.ids.resize(room);
  list.logits.resize(room);
  size_t size = 0;
  for (size_t index = 0; index < row_->block_max().size(); ++index) {
    if (row_->block_max()[index] < low) continue;
    size += FindBetween(row_->block(index), static_cast<int32_t>(index * kBlockSize), low, high,
                        &list.ids[size], &list.logits[size]);
  }
  list.ids.resize(size);
  list.logits.resize(size);
}

void Support::ListBetween(float low, float high) {
  FindInRow(low, high, list_);
  listed_ = true;
  weights_valid_ = false;
  if (!list_.ids.empty()) max_ = *std::max_element(list_.logits.begin(), list_.logits.end());
}

template <typename Keep>
void Support::KeepListed(const Keep& keep) {
  size_t size = 0;
  max_ = kLowestFinite;
  for (size_t i = 0; i < list_.ids.size(); ++i) {
    if (!keep(i)) continue;
    list_.ids[size] = list_.ids[i];
    list_.logits[size] = list_.logits[i];
    max_ = std::max(max_, list_.logits[i]);
    ++size;
  }
  list_.ids.resize(size);
  list_.logits.resize(size);
  weights_valid_ = false;
}

const WeightedSums& Support::RowSums() {
  if (!row_sums_) {
    row_sums_ = SumExpWeighted(row_->logits(), max_, tempering_.temperature);
  }
  return *row_sums_;
}

std::span<const double> Support::Weights() {
  if (!weights_valid_) {
    weights_.resize(list_.logits.size());
    list_sum_ = ListWeights(list_.logits, max_, tempering_, weights_);
    weights_valid_ = true;
  }
  return weights_;
}

void Support::FindKeys(const Order& order) {
  keys_.resize(list_.logits.size());
  for (size_t i = 0; i < keys_.size(); ++i) keys_[i] = order.Key(tempering_(list_.logits[i]));
}

size_t Support::Size() const {
  if (listed_) return list_.ids.size();
  return static_cast<size_t>(SumDeviations(row_->logits(), max_).count);
}

double Support::SumExp() {
  if (!listed_) {
    return row_sums_ ? row_sums_->exp
                     : sampling::SumExp(row_->logits(), max_, tempering_.temperature);
  }
  Weights();
  return list_sum_;
}

double Support::Mean() {
  if (!listed_) return Max() + RowSums().mean / RowSums().exp;
  const std::span<const double> weights = Weights();
  FixedOrderSum sum;
  for (size_t i = 0; i < weights.size(); ++i) {
    sum.Add((tempering_(list_.logits[i]) - Max()) * weights[i]);
  }
  return Max() + sum.Total() / list_sum_;
}

double Support::SumExpOfLogits(double max) {
  const auto largest = static_cast<float>(max);
  if (!listed_) return sampling::SumExp(row_->logits(), largest, 1);
  keys_.resize(list_.logits.size());
  return ListWeights(list_.logits, largest, {}, keys_);
}

SquaredSums Support::SumExpSquared(double temperature) {
  if (!listed_) {
    return sampling::SumExpSquared(row_->logits(), max_, tempering_.temperature * temperature);
  }
  FixedOrderSum sum, squares;
  for (const float logit : list_.logits) {
    const double e = Exp((tempering_(logit) - Max()) / temperature);
    sum.Add(e);
    squares.Add(e * e);
  }
  return {sum.Total(), squares.Total()};
}

double Support::Stddev() const {
  double count = 0, sum = 0, squares = 0, unit = 1;
  if (listed_) {
    FixedOrderSum sums, square_sums;
    for (const float logit : list_.logits) {
      const double deviation = tempering_(logit) - Max();
      sums.Add(deviation);
      square_sums.Add(deviation * deviation);
    }
    count = static_cast<double>(list_.logits.size());
    sum = sums.Total();
    squares = square_sums.Total();
  } else {
    const PlainSums sums = SumDeviations(row_->logits(), max_);
    count = sums.count;
    sum = sums.sum;
    squares = sums.squares;
    unit = tempering_.temperature;
  }
  const double mean = sum / count;
  return std::sqrt(std::max(squares / count - mean * mean, 0.0)) / unit;
}

// Bisection over all floats up to the largest logit.
float Support::LowestLogit(Predicate predicate) const {
  if (!predicate(tempering_(max_))) return std::numeric_limits<float>::infinity();
  int32_t low = Ordinal(kLowestFinite), high = Ordinal(max_);  // true at `high`
  while (low < high) {
    const auto middle = static_cast<int32_t>((int64_t{low} + high) >> 1);
    if (predicate(tempering_(FromOrdinal(middle)))) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return FromOrdinal(high);
}

void Support::KeepLargest(Predicate keep, int32_t min_keep) {
  const float low = LowestLogit(keep);
  if (low == kLowestFinite) return;
  const auto least = static_cast<size_t>(min_keep);
  if (!listed_) {
    const float max = max_;
    ListBetween(low, max);
    if (list_.ids.size() >= least) return;
    listed_ = false;
    return KeepFirst(min_keep, min_keep);
  }
  const auto kept = static_cast<size_t>(std::count_if(list_.logits.begin(), list_.logits.end(),
                                                      [=](float logit) { return logit >= low; }));
  if (kept < least) return KeepFirst(min_keep, min_keep);
  if (kept < list_.ids.size()) KeepListed([&](size_t i) { return list_.logits[i] >= low; });
}

void Support::KeepFirst(int32_t k, int32_t min_keep) {
  const auto count = static_cast<size_t>(std::max(k, min_keep));
  if (!listed_) {
    if (count >= row_->logits().size()) return;
    // At least `count` blocks have a token as large as the count-th largest block maximum.
    float low = kLowestFinite;
    if (count <= row_->block_max().size()) {
      block_max_.assign(row_->block_max().begin(), row_->block_max().end());
      const auto last = block_max_.begin() + static_cast<std::ptrdiff_t>(count - 1);
      std::nth_element(block_max_.begin(), last, block_max_.end(), std::greater<>());
      const double value = tempering_(*last);  // other logits may come to the same
      low = LowestLogit([=](double x) { return x >= value; });
    }
    ListBetween(low, max_);
  }
  if (count >= list_.ids.size()) return;
  FindKeys(LargestFirst());
  const Cut cut = selection_.AtCount(keys_, count);
  KeepListed([&](size_t i) { return cut.Keeps(keys_[i], i); });
}

// Tokens with a key up to some reach are a beginning of the order. If they hold the mass, and are
// enough, the cut is among them; if not, reach farther, and at last list everything.
double Support::ListBeginning(double mass, const Order& order, size_t least) {
  const WeightedSums sums = RowSums();
  const double max = Max();
  const float largest = max_;
  double reach = GuessReach(mass, order, sums);
  for (int attempt = 0; attempt < 4; ++attempt, reach *= 2) {
    const bool nearest = order.by == Order::By::kNearest;
    const double center = nearest ? order.center : max;
    const float low = LowestLogit([=](double x) { return center - x <= reach; });
    if (low == kLowestFinite || std::isinf(low)) continue;
    const float past = LowestLogit([=](double x) { return x - center > reach; });
    ListBetween(low, std::isinf(past) ? largest : std::nextafter(past, kLowestFinite));
    if (list_.ids.size() >= least) {
      Weights();
      // Weights are relative to the largest of the list, Z to the largest of the row.
      const double scale = Exp(Max() - max);
      if (list_sum_ * scale >= mass * sums.exp) return sums.exp / scale;
    }
    listed_ = false;
    max_ = largest;
  }
  ListAll();
  Weights();
  return list_sum_;
}

void Support::KeepWhileMassBefore(double mass, const Order& order, int32_t min_keep) {
  const auto least = static_cast<size_t>(min_keep);
  const double sum = listed_ ? SumExp() : ListBeginning(mass, order, least);
  const std::span<const double> weights = Weights();
  FindKeys(order);
  const Cut cut = selection_.AtMass(keys_, weights, mass * sum, least);
  KeepListed([&](size_t i) { return cut.Keeps(keys_[i], i); });
}

Support::Tokens Support::FindLargest(Predicate is_above) {
  const float low = LowestLogit(is_above);
  if (!listed_) {
    FindInRow(low, max_, found_);
  } else {
    found_.ids.clear();
    found_.logits.clear();
    for (size_t i = 0; i < list_.ids.size(); ++i) {
      if (list_.logits[i] < low) continue;
      found_.ids.push_back(list_.ids[i]);
      found_.logits.push_back(list_.logits[i]);
    }
  }
  return {found_.ids, found_.logits};
}

void Support::RemoveIf(const Tokens& tokens, absl::FunctionRef<bool(int32_t id)> remove) {
  if (!listed_) {
    own_row_.CopyFrom(*row_);
    for (const int32_t id : tokens.ids) {
      if (remove(id)) own_row_.Set(id, -std::numeric_limits<float>::infinity());
    }
    own_row_.FinishEdits();
    row_ = &own_row_;
    max_ = own_row_.max();
    row_sums_.reset();
    return;
  }
  auto next = tokens.ids.begin();  // both ascend
  KeepListed([&](size_t i) {
    if (next == tokens.ids.end() || *next != list_.ids[i]) return true;
    return !remove(*next++);
  });
}

void Support::Temper(double temperature) {
  tempering_ = {.pivot = max_, .temperature = temperature};
  tempered_ = true;
  row_sums_.reset();
  weights_valid_ = false;
}

int32_t Support::Argmax() const {
  for (size_t index = 0; index < BlockCount(); ++index) {
    const TokenBlock block = Block(index);
    if (block.max < max_) continue;
    const auto found = std::find(block.logits.begin(), block.logits.end(), max_);
    return block.id(static_cast<size_t>(found - block.logits.begin()));
  }
  return -1;
}

size_t Support::BlockCount() const {
  return sampling::BlockCount(listed_ ? list_.ids.size() : row_->logits().size());
}

TokenBlock Support::Block(size_t index) const {
  const size_t first = index * kBlockSize;
  if (!listed_) {
    return {row_->block(index), nullptr, static_cast<int32_t>(first), row_->block_max()[index]};
  }
  const size_t size = std::min(kBlockSize, list_.ids.size() - first);
  const auto logits = std::span(list_.logits).subspan(first, size);
  return {logits, &list_.ids[first], 0, *std::max_element(logits.begin(), logits.end())};
}

std::optional<float> Support::Find(int32_t id) const {
  if (!listed_) {
    const float logit = row_->logits()[static_cast<size_t>(id)];
    return std::isinf(logit) ? std::nullopt : std::optional(logit);
  }
  const auto found = std::lower_bound(list_.ids.begin(), list_.ids.end(), id);
  if (found == list_.ids.end() || *found != id) return std::nullopt;
  return list_.logits[static_cast<size_t>(found - list_.ids.begin())];
}

}  // namespace tokendraw::sampling
