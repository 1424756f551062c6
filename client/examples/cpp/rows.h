// The logits rows of a safetensors file: an engine has them on its device.
#ifndef DECODE_ROWS_H_
#define DECODE_ROWS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

struct Rows {
  std::int32_t vocab_size = 0;
  std::vector<std::vector<float>> rows;
};

// The BF16 tensor `logits`, [rows, vocab], of a file that has one.
std::optional<Rows> ReadRows(const std::string& path);

#endif  // DECODE_ROWS_H_
