#include "sampling/support.h"

#include <algorithm>
#include <limits>

#include "sampling/kernels.h"

namespace tokendraw::sampling {
namespace {

constexpr double kLowestTempered = -1e150;

// Indices of `tokens` by ascending key; ties keep the order of ids.
std::vector<size_t> Order(std::span<const Candidate> tokens, const Support::Key& key) {
  std::vector<double> keys(tokens.size());
  std::vector<size_t> order(tokens.size());
  for (size_t i = 0; i < tokens.size(); ++i) {
    keys[i] = key(tokens[i]);
    order[i] = i;
  }
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return keys[a] != keys[b] ? keys[a] < keys[b] : a < b; });
  return order;
}

// Reduces `tokens` to those at the first `count` of `order`.
void KeepBeginning(std::vector<size_t> order, size_t count, std::vector<Candidate>& tokens) {
  order.resize(count);
  std::sort(order.begin(), order.end());
  for (size_t i = 0; i < count; ++i) tokens[i] = tokens[order[i]];
  tokens.resize(count);
}

}  // namespace

void Support::Reset(std::span<const float> logits) {
  tokens_.clear();
  tempered_ = false;
  for (size_t i = 0; i < logits.size(); ++i) {
    if (logits[i] != -std::numeric_limits<float>::infinity()) {
      tokens_.push_back({static_cast<int32_t>(i), logits[i]});
    }
  }
}

double Support::Max() const {
  double max = tokens_.front().logit;
  for (const Candidate& token : tokens_) max = std::max(max, token.logit);
  return max;
}

Softmax Support::ComputeSoftmax() const {
  const double max = Max();
  FixedOrderSum sum, weighted;
  for (const Candidate& token : tokens_) {
    const double d = token.logit - max;
    const double e = Exp(d);
    sum.Add(e);
    weighted.Add(d * e);
  }
  const double z = sum.Total();
  return {.max = max, .sum = z, .mean = max + weighted.Total() / z};
}

void Support::KeepLargest(const Predicate& keep, int32_t min_keep) {
  const auto kept = static_cast<size_t>(std::count_if(tokens_.begin(), tokens_.end(), keep));
  if (kept < static_cast<size_t>(min_keep)) return KeepFirst(min_keep, min_keep);
  std::erase_if(tokens_, [&](const Candidate& token) { return !keep(token); });
}

void Support::KeepFirst(int32_t k, int32_t min_keep) {
  const auto count = static_cast<size_t>(std::max(k, min_keep));
  if (count >= tokens_.size()) return;
  KeepBeginning(Order(tokens_, LargestFirst), count, tokens_);
}

void Support::KeepWhileMassBefore(double mass, const Key& key, int32_t min_keep) {
  const Softmax softmax = ComputeSoftmax();
  std::vector<size_t> order = Order(tokens_, key);
  const auto least = std::min(static_cast<size_t>(min_keep), tokens_.size());
  double before = 0;  // in units of 1 / Z
  size_t count = 0;
  while (count < tokens_.size() && (count < least || before < mass * softmax.sum)) {
    before += Exp(tokens_[order[count]].logit - softmax.max);
    ++count;
  }
  KeepBeginning(std::move(order), count, tokens_);
}

void Support::Remove(const Predicate& remove) { std::erase_if(tokens_, remove); }

void Support::Temper(double temperature) {
  const double max = Max();
  for (Candidate& token : tokens_) {
    token.logit = std::max((token.logit - max) / temperature, kLowestTempered);
  }
  tempered_ = true;
}

}  // namespace tokendraw::sampling
