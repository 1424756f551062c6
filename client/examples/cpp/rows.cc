#include "rows.h"

#include <bit>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

// A safetensors file is the length of a JSON header, the header, and the data.
std::optional<Rows> ReadRows(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string file(std::istreambuf_iterator<char>(in), {});
  std::uint64_t length = 0;
  if (file.size() < sizeof(length)) return std::nullopt;
  std::memcpy(&length, file.data(), sizeof(length));
  if (length > file.size() - sizeof(length)) return std::nullopt;
  const auto header = nlohmann::json::parse(file.substr(sizeof(length), length), nullptr, false);
  if (!header.contains("logits")) return std::nullopt;

  const auto& logits = header["logits"];
  const auto count = logits["shape"][0].get<std::size_t>();
  const auto vocab = logits["shape"][1].get<std::size_t>();
  const std::size_t begin = sizeof(length) + length + logits["data_offsets"][0].get<std::size_t>();
  if (file.size() < begin + count * vocab * sizeof(std::uint16_t)) return std::nullopt;

  Rows rows{.vocab_size = static_cast<std::int32_t>(vocab)};
  const char* element = file.data() + begin;
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<float>& row = rows.rows.emplace_back(vocab);
    for (float& value : row) {
      std::uint16_t half;
      std::memcpy(&half, element, sizeof(half));
      value = std::bit_cast<float>(std::uint32_t{half} << 16);  // BF16 is the upper half
      element += sizeof(half);
    }
  }
  return rows;
}
