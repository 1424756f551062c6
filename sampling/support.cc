#include "sampling/support.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>

namespace tokendraw::sampling {
namespace {

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
  reshaped_ = false;
  origin_ = 0;
  row_request_ = row.request();
  row_sums_ = row.sums();
  weights_valid_ = false;
  outside_.reset();
  undecided_ = false;
  Reserve(row.vocab_size());
  if (row.vocab_size() <= listed_vocab) ListAll();
}

void Support::CopyFrom(const Support& other) {
  row_ = other.row_;
  listed_ = other.listed_;
  if (listed_) list_.Assign(other.list_.ids(), other.list_.logits());
  max_ = other.max_;
  tempering_ = other.tempering_;
  tempered_ = other.tempered_;
  reshaped_ = other.reshaped_;
  origin_ = other.origin_;
  row_request_ = other.row_request_;
  row_sums_ = other.row_sums_;
  weights_valid_ = false;
  outside_ = other.outside_;
  undecided_ = other.undecided_;
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

void Support::List::Assign(std::span<const int32_t> ids, std::span<const float> logits) {
  size = ids.size();
  Grow(size + kListSlack);
  std::copy_n(ids.data(), size, id_room.data());
  std::copy_n(logits.data(), size, logit_room.data());
}

// Blocks whose largest logit is too small are not looked at.
void Support::FindInRow(float low, float high, List& list) const {
  list.Grow(row_->vocab_size() + kListSlack);
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
  if (list_.size > 0) max_ = ListMax(list_.logits());
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

void Support::KeepUpTo(const Cut& cut, std::span<const double> keys) {
  const size_t last = cut.index + 1;
  int32_t* const ids = list_.id_room.data();
  float* const logits = list_.logit_room.data();
  const size_t size = CompressList(keys.first(last), Limit::kAtMost, cut.key, 0, 0, ids, logits);
  list_.size =
      size + CompressList(keys.subspan(last), Limit::kBelow, cut.key, last, size, ids, logits);
  max_ = ListMax(list_.logits());
  weights_valid_ = false;
  outside_.reset();
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
    ListNegated(list_.logits(), tempering_, keys);
  }
  return keys;
}

size_t Support::Size() {
  if (is_open()) Undecide();
  if (listed_) return list_.size;
  std::ptrdiff_t size = 0;
  for (size_t index = 0; index < row_->block_max().size(); ++index) {
    size += std::ranges::count_if(row_->block(index), [](float x) { return x >= kLowestFinite; });
  }
  return static_cast<size_t>(size);
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
  if (is_open() && low <= outside_->floor) return Undecide();
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
  outside_.reset();
}

void Support::KeepFirst(int32_t k, int32_t min_keep, bool with_equal) {
  const auto count = static_cast<size_t>(std::max(k, min_keep));
  if (!listed_) {
    if (count >= row_->vocab_size()) return;
    ListBetween(LowestOfFirst(count), max_);
  }
  const size_t outside = is_open() ? static_cast<size_t>(outside_->count) : 0;
  if (count >= list_.size + outside) return;
  if (count > list_.size) return Undecide();
  const std::span<const double> keys = Keys(LargestFirst());
  Cut cut = selection_.AtCount(keys, count);
  if (with_equal) cut.index = keys.size() - 1;
  if (!IsBeforeOutside(cut.key, LargestFirst())) return Undecide();
  KeepUpTo(cut, keys);
}

// At least `count` blocks have a token as large as the count-th largest block maximum.
float Support::LowestOfFirst(size_t count) {
  if (count > row_->block_max().size()) return kLowestFinite;
  const double value = tempering_(BlockMaxAt(count));  // other logits may come to the same
  return LowestLogit([=](double x) { return x >= value; });
}

float Support::BlockMaxAt(size_t rank) {
  block_max_.assign(row_->block_max().begin(), row_->block_max().end());
  const auto at =
      block_max_.begin() + static_cast<std::ptrdiff_t>(std::min(rank, block_max_.size()) - 1);
  std::nth_element(block_max_.begin(), at, block_max_.end(), std::greater<>());
  return *at;
}

Support::Tokens Support::FindLargest(Predicate is_above) {
  const float low = LowestLogit(is_above);
  if (is_open() && low <= outside_->floor) Undecide();
  if (!listed_) {
    FindInRow(low, max_, found_);
  } else {
    found_.Grow(list_.size + kListSlack);
    found_.size =
        FindBetween(list_.logits(), 0, low, max_, found_.id_room.data(), found_.logit_room.data());
    for (size_t i = 0; i < found_.size; ++i) {
      found_.id_room[i] = list_.id_room[static_cast<size_t>(found_.id_room[i])];
    }
  }
  return {found_.ids(), found_.logits()};
}

void Support::RemoveIf(const Tokens& tokens, absl::FunctionRef<bool(int32_t id)> remove) {
  if (!listed_) {
    removed_.clear();
    for (const int32_t id : tokens.ids) {
      if (remove(id)) removed_.push_back({id, -std::numeric_limits<float>::infinity()});
    }
    own_row_.CopyPatched(*row_, removed_);
    row_ = &own_row_;
    max_ = own_row_.max();
    row_sums_.reset();
    return;
  }
  if (is_open()) outside_->stddev.reset();
  auto next = tokens.ids.begin();  // both ascend
  KeepListed([&](size_t i) {
    if (next == tokens.ids.end() || *next != list_.id_room[i]) return true;
    return !remove(*next++);
  });
}

void Support::Temper(double temperature) {
  origin_ = (origin_ + Max()) / temperature;
  tempering_ = {.pivot = max_, .temperature = temperature};
  tempered_ = true;
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
  return sampling::BlockCount(listed_ ? list_.size : row_->vocab_size());
}

TokenBlock Support::Block(size_t index) const {
  const size_t first = index * kBlockSize;
  if (!listed_) {
    return {row_->block(index), nullptr, static_cast<int32_t>(first), row_->block_max()[index]};
  }
  const size_t size = std::min(kBlockSize, list_.size - first);
  const auto logits = list_.logits().subspan(first, size);
  return {logits, &list_.id_room[first], 0, ListMax(logits)};
}

std::optional<float> Support::Find(int32_t id) const {
  if (!listed_) {
    const float logit = row_->logit(id);
    return std::isinf(logit) ? std::nullopt : std::optional(logit);
  }
  const std::span<const int32_t> ids = list_.ids();
  const auto found = std::lower_bound(ids.begin(), ids.end(), id);
  if (found == ids.end() || *found != id) return std::nullopt;
  return list_.logit_room[static_cast<size_t>(found - ids.begin())];
}

}  // namespace tokendraw::sampling
