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
  // Where the cut is.
  struct Undecided {
    std::span<const double> keys;
    std::span<const double> weights;
    std::span<const uint32_t> indices;  // ascending; empty: 0, 1, 2, ...

    uint32_t index(size_t i) const {
      return indices.empty() ? static_cast<uint32_t>(i) : indices[i];
    }
  };
  // What is before it.
  struct Before {
    double weight = 0;
    size_t count = 0;
  };
  struct Goal {
    double mass;
    size_t least;

    bool IsReached(const Before& before) const {
      return before.weight >= mass && before.count >= least;
    }
  };

  bool Narrow(const Goal& goal, Undecided& undecided, Before& before);

  // Of the undecided.
  std::vector<double> keys_;
  std::vector<double> weights_;
  std::vector<uint32_t> indices_;
  std::vector<int32_t> bins_;
  std::vector<uint32_t> found_;

  std::vector<Cut> ranks_;
};

}  // namespace tokendraw::sampling

#endif  // TOKENDRAW_SAMPLING_SELECTION_H_
