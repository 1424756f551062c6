// The survivors of a row, and the few ways in which a filter can look at them or cut them.
//
// Every filter but XTC keeps a beginning of some order of the survivors; it says which order, and
// where the beginning ends. Ties in any order go lowest id first.
#ifndef TOKENDRAW_SAMPLING_SUPPORT_H_
#define TOKENDRAW_SAMPLING_SUPPORT_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace tokendraw::sampling {

struct Candidate {
  int32_t id = 0;
  double logit = 0;  // finite
};

// Softmax of the survivors, in sums relative to the largest logit m, with d = x - m.
struct Softmax {
  double max = 0;   // m
  double sum = 0;   // Z = sum of e^d, >= 1
  double mean = 0;  // mu = sum of p * x
};

// The surviving tokens, by ascending id. Never empty once reset from a row with an unmasked token.
class Support {
 public:
  // Where a token stands in an order: smaller comes first.
  using Key = std::function<double(const Candidate&)>;
  using Predicate = std::function<bool(const Candidate&)>;

  // Starts from the tokens of `logits` that are not masked (-inf).
  void Reset(std::span<const float> logits);

  std::span<const Candidate> tokens() const { return tokens_; }
  size_t size() const { return tokens_.size(); }
  bool empty() const { return tokens_.empty(); }
  // Whether Temper has run.
  bool tempered() const { return tempered_; }

  double Max() const;
  Softmax ComputeSoftmax() const;

  // Keeps the tokens of which `keep` is true; they must be a beginning of the order "largest logit
  // first" (ties lowest id first). At least min(min_keep, size()) of that order stay.
  void KeepLargest(const Predicate& keep, int32_t min_keep);

  // Keeps the first max(k, min_keep) tokens of the order "largest logit first".
  void KeepFirst(int32_t k, int32_t min_keep);

  // Orders by ascending `key` and keeps tokens while the probability of those before is < `mass`,
  // and at least the first min(min_keep, size()).
  void KeepWhileMassBefore(double mass, const Key& key, int32_t min_keep);

  // Removes the tokens of which `remove` is true.
  void Remove(const Predicate& remove);

  // Replaces each logit x by (x - m) / temperature. Ratios too large for a double's square stop at
  // a value whose probability is 0, so that sums over them stay finite.
  void Temper(double temperature);

 private:
  std::vector<Candidate> tokens_;
  bool tempered_ = false;
};

// The order "largest logit first".
inline double LargestFirst(const Candidate& token) { return -token.logit; }

}  // namespace tokendraw::sampling

#endif  // TOKENDRAW_SAMPLING_SUPPORT_H_
