// The survivors of a row, and the few ways in which a filter can look at them or cut them.
//
// Every filter but XTC keeps a beginning of some order of the survivors, which is an interval of
// logits (ties at its ends aside). So a row is read as a whole until the first cut, through sums
// and block maxima; the cut moves the tokens of one interval to a short list, and all that follows
// is exact work on the list. Ties in any order go lowest id first.
//
// From candidates there is a list from the start, which is open: tokens outside it survive too, and
// only bounds are known of them. The first cut that certainly leaves none of them closes it. What
// an open list cannot tell closes it as well, and leaves an answer that is undecided.
#ifndef TOKENDRAW_SAMPLING_SUPPORT_H_
#define TOKENDRAW_SAMPLING_SUPPORT_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "absl/functional/function_ref.h"
#include "sampling/candidates.h"
#include "sampling/kernels.h"
#include "sampling/row.h"
#include "sampling/rules.h"
#include "sampling/selection.h"

namespace tokendraw::sampling {

// An order of tokens by their value x (the logit, tempered if that filter has run): by -x
// ascending, or by abs(x - center).
struct Order {
  enum class By { kLargest, kNearest };

  By by = By::kLargest;
  double center = 0;
};

inline Order LargestFirst() { return {}; }
inline Order NearestTo(double center) { return {.by = Order::By::kNearest, .center = center}; }

// Survivors in a row of memory: those with a finite logit.
struct TokenBlock {
  std::span<const float> logits;
  const int32_t* ids;  // null: first_id, first_id + 1, ...
  int32_t first_id;
  float max;  // of `logits`

  int32_t id(size_t i) const {
    return ids == nullptr ? first_id + static_cast<int32_t>(i) : ids[i];
  }
};

class Support {
 public:
  // Of a value x.
  using Predicate = absl::FunctionRef<bool(double x)>;

  // Rows up to this size are listed from the start: on them, sums are exact to the last bits.
  static constexpr size_t kListedVocab = 4096;

  Support() = default;
  Support(const Support&) = delete;
  Support& operator=(const Support&) = delete;

  // Starts from the tokens of `row` that are not masked, of which there must be one. `row` must
  // outlive the use of this object.
  void Reset(const FloatRow& row, size_t listed_vocab = kListedVocab);

  // Starts from an open list, not empty, with a finite largest logit.
  void Reset(const Candidates& row);

  // Becomes the same survivors as `other`, which must outlive the use of this object.
  void CopyFrom(const Support& other);

  // Lists all survivors, however many.
  void ListAll();

  // Whether Temper has run.
  bool tempered() const { return tempered_; }

  // What Temper divided by; 1 before.
  double temperature() const { return tempering_.temperature; }

  // What Temper and Reshape took off all x: with it added, the largest is what it would be had they
  // divided and bent logits where they are.
  double origin() const { return origin_; }

  // Whether Reshape has run: logits are not those of the row any more.
  bool reshaped() const { return reshaped_; }

  // Whether the survivors are a list, and cheap to go through.
  bool is_list() const { return listed_; }

  // Whether there are survivors outside the list, or may be.
  bool is_open() const { return outside_.has_value(); }

  // Whether something was asked that an open list could not tell. What comes after is made from the
  // listed tokens alone and means nothing.
  bool undecided() const { return undecided_; }

  // Closes an open list: what is asked cannot be told.
  void Undecide();

  // Runs `step`, a use of this object, on an open list at each end of what the statistics that it
  // asks for can be, and returns what it does. Undecided unless it leaves the same tokens at all of
  // them: then it does so in between, since either end of what a filter keeps moves one way with
  // each.
  bool AtEachEnd(absl::FunctionRef<bool()> step);

  size_t Size();
  double Max() const { return tempering_(max_); }  // m

  // ---- statistics of the softmax p
  double SumExp();  // Z = sum of e^(x - m), >= 1
  double Mean();    // mu = sum of p * x
  // Sum of e^(logit - max), with the logits as they were before Temper.
  double SumExpOfLogits(double max);
  // Of e = e^((x - m) / temperature): its sum, and the sum of its square.
  struct SquaredSums {
    double exp, squares;
  };
  SquaredSums SumExpSquared(double temperature);
  // Population standard deviation of x, p aside.
  double Stddev();

  // Keeps the tokens of which `keep` is true, which never becomes false as x grows. At least
  // min(min_keep, Size()) of the order "largest first" stay.
  void KeepLargest(Predicate keep, int32_t min_keep);

  // Keeps the first max(k, min_keep) tokens of the order "largest first", and, if `with_equal`, all
  // whose value is that of the last of them.
  void KeepFirst(int32_t k, int32_t min_keep, bool with_equal = false);

  // Keeps tokens while the probability of those before, in `order`, is < `mass` or what else `cut`
  // says, and at least the first min(min_keep, Size()).
  void KeepWhileMassBefore(double mass, const Order& order, int32_t min_keep,
                           MassCut cut = MassCut::kBelow);

  // The tokens of which `is_above` is true, by ascending id; as for KeepLargest.
  struct Tokens {
    std::span<const int32_t> ids;
    std::span<const float> logits;
  };
  Tokens FindLargest(Predicate is_above);  // valid until the next call

  // Removes those of `tokens` of which `remove` is true. One survivor must stay.
  void RemoveIf(const Tokens& tokens, absl::FunctionRef<bool(int32_t id)> remove);

  // Replaces each x by (x - m) / temperature. Once.
  void Temper(double temperature);

  // Replaces each x by another that is finite: `shape` overwrites the logits of which x is the
  // tempering. Undecides an open list.
  void Reshape(absl::FunctionRef<void(const Tempering& tempering, std::span<float> logits)> shape);

  // The values of the first `count` survivors of the order "largest first", or of all. To be
  // overwritten as one likes; valid until the next call of anything.
  std::span<double> Descending(size_t count);
  // Those of all that are within `reach` of m; of an open list, the listed.
  std::span<double> DescendingWithin(double reach);

  // ---- for whoever looks at every survivor
  double Value(float logit) const { return tempering_(logit); }
  int32_t Argmax() const;  // lowest id among equals
  // Of an open list, those of the listed.
  size_t BlockCount() const;
  TokenBlock Block(size_t index) const;  // logits may be masked
  // The logit of a (listed) survivor, or nothing.
  std::optional<float> Find(int32_t id) const;

 private:
  // Room that only grows, of which the first `size` are used.
  struct List {
    std::vector<int32_t> id_room;
    std::vector<float> logit_room;
    size_t size = 0;

    std::span<const int32_t> ids() const { return std::span(id_room).first(size); }  // ascending
    std::span<const float> logits() const { return std::span(logit_room).first(size); }
    void Grow(size_t room);
    void Assign(std::span<const int32_t> ids, std::span<const float> logits);
  };

  // Statistics of an open list.
  enum Statistic : unsigned { kSumExp = 1, kMean = 2, kSumSquared = 4, kStddev = 8 };

  // Whatever rows of so many tokens hold, nothing will be allocated for them after the first.
  void Reserve(size_t tokens);
  // Of the row: `request` is in terms of logits, not of values.
  const RowSums& SumOverRow(const SumRequest& request);
  // Of the list: e^y, with sum list_sum_.
  std::span<const double> Weights();

  // Of a list.
  std::span<double> ValuesOf(const List& list);

  // Of the list: what `order` goes by.
  std::span<const double> Keys(const Order& order);
  // The smallest logit of which `predicate` is true, or +inf.
  float LowestLogit(Predicate predicate) const;
  // Lists the tokens of the row with low <= logit <= high in `list`.
  void FindInRow(float low, float high, List& list) const;
  // Moves from the row to the list of tokens with low <= logit <= high.
  void ListBetween(float low, float high);
  // Moves from the row to a list that holds all that KeepWhileMassBefore can keep. Returns Z.
  double ListBeginning(double mass, const Order& order, size_t least);
  // How far from `center` tokens might have to be so that those nearer have `inside` of `sum`, the
  // sum of e^(x - m).
  double FirstReach(double inside, double sum, double center);
  // A logit that the first `count` tokens of the row, in the order "largest first", are not below.
  float LowestOfFirst(size_t count);
  // The rank-th largest block maximum of the row, or the smallest.
  float BlockMaxAt(size_t rank);
  // Keeps in the list what is up to `cut`; keys are those of the list.
  void KeepUpTo(const Cut& cut, std::span<const double> keys);
  // keep(i) for each index in the list; not none.
  template <typename Keep>
  void KeepListed(const Keep& keep);

  // ---- of an open list (support/open_list.cc)
  // Whether a key of the list is certainly before those of all tokens outside it.
  bool IsBeforeOutside(double key, const Order& order) const;
  // A number within `bounds`, or, if that cannot be told, 1 in a list that is closed: the end that
  // AtEachEnd wants, or else the middle, if both ends are nearly the same.
  double Pick(Statistic statistic, const std::optional<Interval>& bounds);
  // The statistics, given what the list has of them.
  double OpenSumExp();  // list_sum_
  double OpenMean(double listed_weighted);
  SquaredSums OpenSumExpSquared(double temperature, const SquaredSums& listed);
  double OpenStddev();
  // Of the tokens outside, the sum of e^((logit - max_) / tempering_.temperature).
  std::optional<Interval> OutsideExp() const;

  const FloatRow* row_ = nullptr;
  bool listed_ = false;
  List list_;
  float max_ = 0;  // largest logit of the survivors
  Tempering tempering_;
  bool tempered_ = false;
  bool reshaped_ = false;
  double origin_ = 0;

  SumRequest row_request_;
  std::optional<RowSums> row_sums_;  // what row_request_ asks for
  std::vector<double> weights_;      // of the list, if weights_valid_; room that only grows
  double list_sum_ = 0;
  bool weights_valid_ = false;

  FloatRow own_row_;  // the row without what RemoveIf took
  std::vector<Patch> removed_;
  List found_;
  Selection selection_;
  std::vector<double> keys_;
  std::vector<float> block_max_;

  std::optional<Outside> outside_;  // if the list is open
  bool undecided_ = false;
  std::optional<unsigned> end_;  // AtEachEnd: bits of the statistics of which it is the high one
  unsigned asked_ = 0;           // AtEachEnd: bits of the statistics that were asked for
  List start_;
  std::vector<int32_t> left_ids_;
};

// Calls visit(id, logit) for each survivor, by ascending id.
template <typename Visit>
void ForEachSurvivor(const Support& support, const Visit& visit) {
  for (size_t index = 0; index < support.BlockCount(); ++index) {
    const TokenBlock block = support.Block(index);
    for (size_t i = 0; i < block.logits.size(); ++i) {
      if (block.logits[i] >= kLowestFinite) visit(block.id(i), block.logits[i]);
    }
  }
}

}  // namespace tokendraw::sampling

#endif  // TOKENDRAW_SAMPLING_SUPPORT_H_
