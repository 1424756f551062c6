// Where to cut a list of tokens, without sorting it.
#ifndef TOKENDRAW_SAMPLING_SELECTION_H_
#define TOKENDRAW_SAMPLING_SELECTION_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tokendraw::sampling {

// The last token that stays, in the order (key ascending, index ascending).
struct Cut {
  double key = 0;
  size_t index = 0;

  bool Keeps(double other_key, size_t other_index) const {
    return (other_key < key) | ((other_key == key) & (other_index <= index));
  }
};

// Finds cuts. Owns buffers that are reused. Lists are not empty.
class Selection {
 public:
  void Reserve(size_t size);

  // Tokens stay while the weights before them add up to less than `mass`, and at least the first
  // min(least, size) do. mass > 0. Linear time on all but contrived keys.
  Cut AtMass(std::span<const double> keys, std::span<const double> weights, double mass,
             size_t least);

  // The first `count` stay; 1 <= count <= size.
  Cut AtCount(std::span<const double> keys, size_t count);

 private:
  struct List {
    std::span<const double> keys;
    std::span<const double> weights;
    double mass;
    size_t least;
  };
  struct Before {
    double weight = 0;
    size_t count = 0;
  };

  template <typename Index>
  bool Narrow(const List& list, size_t count, const Index& index);

  std::vector<uint32_t> undecided_;  // indices, ascending
  std::vector<uint8_t> bin_of_;      // of the undecided
  Before before_;                    // the undecided
  std::vector<Cut> ranks_;
};

}  // namespace tokendraw::sampling

#endif  // TOKENDRAW_SAMPLING_SELECTION_H_
