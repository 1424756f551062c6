// Rows by recipe. Made of integers and of float operations that are exact or rounded once, and not
// of the math library, whose results differ between machines.
#ifndef TOKENDRAW_TESTS_GOLDEN_ROWS_H_
#define TOKENDRAW_TESTS_GOLDEN_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "sampling/types.h"

namespace tokendraw::golden {

// SplitMix64.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t Next();
  // Nearly normal, of standard deviation 2^16: a sum of 12 uniform integers.
  int32_t Normal();

 private:
  uint64_t state_;
};

// FNV-1a, a value at a time.
class Hash {
 public:
  void Add(uint32_t value) { state_ = (state_ ^ value) * 0x100000001B3; }
  void Add(std::string_view text) {
    for (const char c : text) Add(static_cast<unsigned char>(c));
  }
  uint64_t value() const { return state_; }

 private:
  uint64_t state_ = 0xCBF29CE484222325;
};

// A permutation of the ids: ranks 0, 1, ... lie scattered over the row. `size` is no multiple of
// 7919.
inline int32_t Rank(int32_t id, int32_t size) {
  return static_cast<int32_t>(int64_t{id} * 7919 % size);
}

struct Row {
  sampling::DataType type = sampling::DataType::kF32;
  int32_t size = 0;
  std::vector<std::byte> bytes;

  sampling::LogitsRow View() const {
    return {.data = bytes.data(), .type = type, .vocab_size = size};
  }
};

// `recipe` is a name in the table in rows.cc; with ".f16" or ".bf16" at its end, the same logits
// cut to that type.
Row MakeRow(std::string_view recipe, int32_t size);

// Says what is wrong and ends the program.
[[noreturn]] void Fail(std::string_view what, std::string_view text);

}  // namespace tokendraw::golden

#endif  // TOKENDRAW_TESTS_GOLDEN_ROWS_H_
