// The rows that are measured on.
#ifndef TOKENDRAW_TESTS_BENCH_ROWS_H_
#define TOKENDRAW_TESTS_BENCH_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tokendraw::bench {

enum class RowKind { kPeaked, kFlat, kReal };

const char* NameOf(RowKind kind);

// More rows of one kind than a cache holds: whoever takes them in turn finds each one cold.
class RowSet {
 public:
  // Twelve likely tokens above N(0, 2), or N(0, 3).
  RowSet(RowKind kind, int32_t vocab_size);
  // Copies, in random order, of the rows in a safetensors file with a BF16 tensor "logits".
  explicit RowSet(const std::string& path);

  RowKind kind() const { return kind_; }
  int32_t vocab_size() const { return vocab_size_; }
  size_t size() const { return logits_.size() / static_cast<size_t>(vocab_size_); }
  // Goes round.
  std::span<const float> row(size_t index) const;

 private:
  RowKind kind_;
  int32_t vocab_size_ = 0;
  std::vector<float> logits_;
};

}  // namespace tokendraw::bench

#endif  // TOKENDRAW_TESTS_BENCH_ROWS_H_
