#include "sampling/support.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>

namespace tokendraw::sampling {
namespace {

constexpr float kLowestFinite = std::numeric_limits<float>::lowest();

// A cut by mass is first looked for among tokens as large as the largest of so many blocks, then as
// far out as a sample of so many blocks tells, with some margin.
constexpr size_t kHeadBlocks = 64;
constexpr size_t kSampledBlocks = 12;
constexpr double kOutsideMargin = 0.9;

// Floats as integers of the same order, and back.
int32_t Ordinal(float x) {
  const auto bits = std::bit_cast<int32_t>(x);
  return bits < 0 ? std::numeric_limits<int32_t>::min() - bits : bits;
}
float FromOrdinal(int32_t ordinal) {
  return std::bit_cast<float>(ordinal < 0 ? std::numeric_limits<int32_t>::min() - ordinal
                                          : ordinal);
}

}  // namespace

void Support::Reset(const FloatRow& row, size_t listed_vocab) {
  row_ = &row;
  listed_ = false;
  max_ = row.max();
  tempering_ = {};
  tempered_ = false;
  row_sums_.reset();
  weights_valid_ = false;
  Reserve(row.logits().size());
  if (row.logits().size() <= listed_vocab) ListAll();
}

void Support::CopyFrom(const Support& other) {
  row_ = other.row_;
  listed_ = other.listed_;
  if (listed_) {
    list_.Grow(other.list_.size + kListSlack);
    std::ranges::copy(other.list_.ids(), list_.id_room.begin());
    std::ranges::copy(other.list_.logits(), list_.logit_room.begin());
    list_.size = other.list_.size;
  }
  max_ = other.max_;
  tempering_ = other.tempering_;
  tempered_ = other.tempered_;
  row_sums_ = other.row_sums_;
  weights_valid_ = false;
}

void Support::Reserve(size_t tokens) {
  keys_.reserve(tokens);
  weights_.reserve(tokens);
  selection_.Reserve(tokens);
}

void Support::ListAll() {
  if (!listed_) ListBetween(kLowestFinite, max_);
}

void Support::List::Grow(size_t room) {
  if (id_room.size() >= room) return;
  id_room.resize(room);
  logit_room.resize(room);
}

void Support::List::Append(int32_t id, float logit) {
  id_room[size] = id;
  logit_room[size] = logit;
  ++size;
}

// Blocks whose largest logit is too small are not looked at.
void Support::FindInRow(float low, float high, List& list) const {
  list.Grow(row_->logits().size() + kListSlack);
  list.size = 0;
  for (size_t index = 0; index < row_->block_max().size(); ++index) {
    if (row_->block_max()[index] < low) continue;
    list.size += FindBetween(row_->block(index), static_cast<int32_t>(index * kBlockSize), low,
                             high, &list.id_room[list.size], &list.logit_room[list.size]);
  }
}

void Support::ListBetween(float low, float high) {
  FindInRow(low, high, list_);
  listed_ = true;
  weights_valid_ = false;
  if (list_.size > 0) max_ = *std::ranges::max_element(list_.logits());
}

template <typename Keep>
void Support::KeepListed(const Keep& keep) {
  size_t size = 0;
  float max = kLowestFinite;
  for (size_t i = 0; i < list_.size; ++i) {
    const float logit = list_.logit_room[i];
    list_.id_room[size] = list_.id_room[i];
    list_.logit_room[size] = logit;
    const bool kept = keep(i);
    if (kept && logit > max) max = logit;
    size += kept;  // no branch: nothing tells which tokens stay
  }
  list_.size = size;
  max_ = max;
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
    if (weights_.size() < list_.size) weights_.resize(list_.size);
    list_sum_ = ListWeights(list_.logits(), max_, tempering_, weights_);
    weights_valid_ = true;
  }
  return std::span(weights_).first(list_.size);
}

std::span<const double> Support::Keys(const Order& order) {
  keys_.resize(std::max(keys_.size(), list_.size));
  const std::span<double> keys = std::span(keys_).first(list_.size);
  if (order.by == Order::By::kNearest) {
    ListDistances(list_.logits(), tempering_, order.center, keys);
  } else {
    for (size_t i = 0; i < keys.size(); ++i) keys[i] = -tempering_(list_.logit_room[i]);
  }
  return keys;
}

size_t Support::Size() const {
  if (listed_) return list_.size;
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
  if (!listed_) return Max() + RowSums().weighted / RowSums().exp;
  const std::span<const double> weights = Weights();
  FixedOrderSum sum;
  for (size_t i = 0; i < weights.size(); ++i) {
    sum.Add((tempering_(list_.logit_room[i]) - Max()) * weights[i]);
  }
  return Max() + sum.Total() / list_sum_;
}

double Support::SumExpOfLogits(double max) {
  const auto largest = static_cast<float>(max);
  if (!listed_) return sampling::SumExp(row_->logits(), largest, 1);
  if (keys_.size() < list_.size) keys_.resize(list_.size);
  return ListWeights(list_.logits(), largest, {}, keys_);
}

SquaredSums Support::SumExpSquared(double temperature) {
  if (!listed_) {
    return sampling::SumExpSquared(row_->logits(), max_, tempering_.temperature * temperature);
  }
  FixedOrderSum sum, squares;
  for (const float logit : list_.logits()) {
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
    for (const float logit : list_.logits()) {
      const double deviation = tempering_(logit) - Max();
      sums.Add(deviation);
      square_sums.Add(deviation * deviation);
    }
    count = static_cast<double>(list_.size);
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
    if (list_.size >= least) return;
    listed_ = false;
    return KeepFirst(min_keep, min_keep);
  }
  const auto kept = static_cast<size_t>(
      std::ranges::count_if(list_.logits(), [=](float logit) { return logit >= low; }));
  if (kept < least) return KeepFirst(min_keep, min_keep);
  if (kept < list_.size) KeepListed([&](size_t i) { return list_.logit_room[i] >= low; });
}

void Support::KeepFirst(int32_t k, int32_t min_keep) {
  const auto count = static_cast<size_t>(std::max(k, min_keep));
  if (!listed_) {
    if (count >= row_->logits().size()) return;
    // At least `count` blocks have a token as large as the count-th largest block maximum.
    float low = kLowestFinite;
    if (count <= row_->block_max().size()) {
      const double value = tempering_(BlockMaxAt(count));  // other logits may come to the same
      low = LowestLogit([=](double x) { return x >= value; });
    }
    ListBetween(low, max_);
  }
  if (count >= list_.size) return;
  const std::span<const double> keys = Keys(LargestFirst());
  const Cut cut = selection_.AtCount(keys, count);
  KeepListed([&](size_t i) { return cut.Keeps(keys[i], i); });
}

// Tokens with a key up to some reach are a beginning of the order. If they hold the mass, and are
// enough, the cut is among them; if not, reach farther, and at last list everything.
double Support::ListBeginning(double mass, const Order& order, size_t least) {
  const double sum = SumExp();
  const double max = Max();
  const float largest = max_;
  const double center = order.by == Order::By::kNearest ? order.center : max;
  double reach = FirstReach(mass * sum, sum, center);
  for (int attempt = 0; attempt < 3; ++attempt, reach *= 1.5) {
    const float low = LowestLogit([=](double x) { return center - x <= reach; });
    const float past = LowestLogit([=](double x) { return x - center > reach; });
    ListBetween(low, std::isinf(past) ? largest : std::nextafter(past, kLowestFinite));
    if (list_.size >= least) {
      Weights();
      // Weights are relative to the largest of the list, the sum to the largest of the row.
      const double scale = Exp(Max() - max);
      if (list_sum_ * scale >= mass * sum) return sum / scale;
    }
    listed_ = false;
    max_ = largest;
  }
  ListAll();
  Weights();
  return list_sum_;
}

// A guess. The largest tokens are known; if they do not hold `inside`, those of a few blocks stand
// for all the others.
double Support::FirstReach(double inside, double sum, double center) {
  const float head = BlockMaxAt(std::min(kHeadBlocks, row_->block_max().size() / 8 + 1));
  FindInRow(head, max_, found_);
  weights_.resize(std::max(weights_.size(), found_.size));
  if (ListWeights(found_.logits(), max_, tempering_, weights_) >= inside) {
    return std::abs(center - tempering_(head));
  }

  const size_t known = found_.size;
  const size_t blocks = row_->block_max().size();
  const size_t stride = std::max<size_t>(blocks / kSampledBlocks, 1);
  const float below = std::nextafter(head, kLowestFinite);
  for (size_t index = stride / 2; index < blocks; index += stride) {
    found_.size += FindBetween(row_->block(index), 0, kLowestFinite, below,
                               &found_.id_room[found_.size], &found_.logit_room[found_.size]);
  }
  keys_.resize(std::max(keys_.size(), found_.size));
  weights_.resize(std::max(weights_.size(), found_.size));
  const std::span<double> keys = std::span(keys_).first(found_.size);
  const std::span<double> weights = std::span(weights_).first(found_.size);
  ListWeights(found_.logits(), max_, tempering_, weights);
  ListDistances(found_.logits(), tempering_, center, keys);
  double total = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    if (i >= known) weights[i] *= static_cast<double>(stride);
    total += weights[i];
  }
  // What must be outside says more than what must be inside: it is many tokens, none of them large.
  const double sampled_inside = total - kOutsideMargin * (sum - inside);
  return sampled_inside > 0 ? selection_.AtMass(keys, weights, sampled_inside, 1).key : 0;
}

float Support::BlockMaxAt(size_t rank) {
  block_max_.assign(row_->block_max().begin(), row_->block_max().end());
  const auto at =
      block_max_.begin() + static_cast<std::ptrdiff_t>(std::min(rank, block_max_.size()) - 1);
  std::nth_element(block_max_.begin(), at, block_max_.end(), std::greater<>());
  return *at;
}

void Support::KeepWhileMassBefore(double mass, const Order& order, int32_t min_keep) {
  const auto least = static_cast<size_t>(min_keep);
  const double sum = listed_ ? SumExp() : ListBeginning(mass, order, least);
  const std::span<const double> weights = Weights();
  const std::span<const double> keys = Keys(order);
  const Cut cut = selection_.AtMass(keys, weights, mass * sum, least);
  KeepListed([&](size_t i) { return cut.Keeps(keys[i], i); });
}

Support::Tokens Support::FindLargest(Predicate is_above) {
  const float low = LowestLogit(is_above);
  if (!listed_) {
    FindInRow(low, max_, found_);
  } else {
    found_.Grow(list_.size);
    found_.size = 0;
    for (size_t i = 0; i < list_.size; ++i) {
      if (list_.logit_room[i] < low) continue;
      found_.Append(list_.id_room[i], list_.logit_room[i]);
    }
  }
  return {found_.ids(), found_.logits()};
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
    if (next == tokens.ids.end() || *next != list_.id_room[i]) return true;
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
  return sampling::BlockCount(listed_ ? list_.size : row_->logits().size());
}

TokenBlock Support::Block(size_t index) const {
  const size_t first = index * kBlockSize;
  if (!listed_) {
    return {row_->block(index), nullptr, static_cast<int32_t>(first), row_->block_max()[index]};
  }
  const size_t size = std::min(kBlockSize, list_.size - first);
  const auto logits = list_.logits().subspan(first, size);
  return {logits, &list_.id_room[first], 0, *std::ranges::max_element(logits)};
}

std::optional<float> Support::Find(int32_t id) const {
  if (!listed_) {
    const float logit = row_->logits()[static_cast<size_t>(id)];
    return std::isinf(logit) ? std::nullopt : std::optional(logit);
  }
  const std::span<const int32_t> ids = list_.ids();
  const auto found = std::lower_bound(ids.begin(), ids.end(), id);
  if (found == ids.end() || *found != id) return std::nullopt;
  return list_.logit_room[static_cast<size_t>(found - ids.begin())];
}

}  // namespace tokendraw::sampling
