#include "tests/bench/rows.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>

namespace tokendraw::bench {
namespace {

constexpr size_t kColdBytes = 64 << 20;
constexpr size_t kLikelyTokens = 12;

size_t ColdRowCount(size_t vocab_size) { return kColdBytes / (vocab_size * sizeof(float)) + 1; }

float FromBF16(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

}  // namespace

const char* NameOf(RowKind kind) {
  switch (kind) {
    case RowKind::kPeaked:
      return "peaked";
    case RowKind::kFlat:
      return "flat";
    case RowKind::kReal:
      return "real";
  }
  return "";
}

RowSet::RowSet(RowKind kind, int32_t vocab_size) : kind_(kind), vocab_size_(vocab_size) {
  const auto size = static_cast<size_t>(vocab_size);
  std::mt19937 random(1);
  std::normal_distribution<float> normal(0.0f, kind == RowKind::kPeaked ? 2.0f : 3.0f);
  logits_.resize(ColdRowCount(size) * size);
  for (float& x : logits_) x = normal(random);
  if (kind != RowKind::kPeaked) return;
  for (size_t row = 0; row < this->size(); ++row) {
    for (size_t i = 0; i < kLikelyTokens; ++i) {
      logits_[row * size + (row + 7919 * (i + 1)) % size] = 22.0f - static_cast<float>(i) / 2;
    }
  }
}

RowSet::RowSet(const std::string& path) : kind_(RowKind::kReal) {
  std::ifstream file(path, std::ios::binary);
  file.exceptions(std::ios::failbit | std::ios::badbit);
  uint64_t header_size = 0;
  file.read(reinterpret_cast<char*>(&header_size), sizeof(header_size));
  std::string header(header_size, '\0');
  file.read(header.data(), static_cast<std::streamsize>(header_size));
  const auto tensor = nlohmann::json::parse(header).at("logits");
  const size_t rows = tensor.at("shape").at(0), vocab_size = tensor.at("shape").at(1);
  vocab_size_ = static_cast<int32_t>(vocab_size);
  std::vector<uint16_t> values(rows * vocab_size);
  file.seekg(tensor.at("data_offsets").at(0).get<std::streamoff>(), std::ios::cur);
  file.read(reinterpret_cast<char*>(values.data()),
            static_cast<std::streamsize>(values.size() * sizeof(uint16_t)));

  std::vector<size_t> order(ColdRowCount(vocab_size));
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937(1));
  logits_.reserve(order.size() * vocab_size);
  for (const size_t copy : order) {
    const auto row = std::span(values).subspan(copy % rows * vocab_size, vocab_size);
    std::transform(row.begin(), row.end(), std::back_inserter(logits_), FromBF16);
  }
}

std::span<const float> RowSet::row(size_t index) const {
  const auto vocab_size = static_cast<size_t>(vocab_size_);
  return std::span(logits_).subspan(index % size() * vocab_size, vocab_size);
}

}  // namespace tokendraw::bench
