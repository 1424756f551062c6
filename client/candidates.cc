#include "client/candidates.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <vector>

#include "client/tensor.h"

namespace tokendraw {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

float FromHalf(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const auto fraction = static_cast<float>(bits & 1023);
  float value;
  if (exponent == 0) {
    value = std::ldexp(fraction, -24);
  } else if (exponent == 31) {
    value = fraction == 0 ? kInfinity : std::numeric_limits<float>::quiet_NaN();
  } else {
    value = std::ldexp(fraction + 1024, exponent - 25);
  }
  return bits >> 15 ? -value : value;
}

std::vector<float> Decode(std::span<const std::byte> row, v1::DataType type,
                          std::int32_t vocab_size) {
  std::vector<float> logits(vocab_size);
  if (type == v1::DATA_TYPE_F32) {
    std::memcpy(logits.data(), row.data(), logits.size() * sizeof(float));
    return logits;
  }
  std::vector<std::uint16_t> bits(vocab_size);
  std::memcpy(bits.data(), row.data(), bits.size() * sizeof(std::uint16_t));
  std::transform(bits.begin(), bits.end(), logits.begin(), [&](std::uint16_t x) {
    return type == v1::DATA_TYPE_F16 ? FromHalf(x)
                                     : std::bit_cast<float>(static_cast<std::uint32_t>(x) << 16);
  });
  return logits;
}

// Ids of the `count` largest, ascending.
std::vector<std::int32_t> Largest(const std::vector<float>& logits, std::int32_t count) {
  std::vector<std::int32_t> ids(logits.size());
  std::iota(ids.begin(), ids.end(), 0);
  const auto end = ids.begin() + std::min<std::ptrdiff_t>(count, std::ssize(ids));
  std::nth_element(ids.begin(), end - 1, ids.end(), [&](std::int32_t a, std::int32_t b) {
    return logits[a] != logits[b] ? logits[a] > logits[b] : a < b;
  });
  ids.erase(end, ids.end());
  std::sort(ids.begin(), ids.end());
  return ids;
}

// The formulas of CandidateRow.
void Summarize(const std::vector<float>& logits, v1::CandidateRow& candidates) {
  const float max = *std::max_element(logits.begin(), logits.end());
  if (max == -kInfinity) return;
  double unmasked = 0;  // number of x
  double sum = 0;       // of x
  double mass = 0;      // of e^(x - m)
  double weighted = 0;  // of e^(x - m) * (x - m)
  double squared = 0;   // of e^(2 (x - m))
  for (const double x : logits) {
    if (x == -kInfinity) continue;
    const double d = x - max;
    const double e = std::exp(d);
    unmasked += 1;
    sum += x;
    mass += e;
    weighted += e * d;
    squared += e * e;
  }
  const double mean = sum / unmasked;
  double variance = 0;
  for (const double x : logits) {
    if (x != -kInfinity) variance += (x - mean) * (x - mean) / unmasked;
  }
  candidates.set_log_sum_exp(max + std::log(mass));
  candidates.set_mean_logit(max + weighted / mass);
  candidates.set_max(max);
  candidates.set_logit_mean(mean);
  candidates.set_logit_stddev(std::sqrt(variance));
  candidates.set_sum_squared_probability(squared / (mass * mass));
}

}  // namespace

void ReduceRow(std::span<const std::byte> row, v1::DataType type, std::int32_t vocab_size,
               std::int32_t count, v1::CandidateRow& candidates) {
  const std::vector<float> logits = Decode(row, type, vocab_size);
  candidates.Clear();
  const auto offending = std::find_if(logits.begin(), logits.end(),
                                      [](float x) { return std::isnan(x) || x == kInfinity; });
  if (offending != logits.end()) {
    candidates.add_ids(static_cast<std::int32_t>(offending - logits.begin()));
    candidates.add_logits(*offending);
    return;
  }
  for (const std::int32_t id : Largest(logits, count)) {
    candidates.add_ids(id);
    candidates.add_logits(logits[id]);
  }
  Summarize(logits, candidates);
}

void SetCandidates(std::span<const std::byte> rows, v1::DataType type, std::int32_t vocab_size,
                   std::int32_t row_count, std::int32_t row_stride, std::int32_t count,
                   v1::LogitsTensor& tensor) {
  tensor.set_vocab_size(vocab_size);
  tensor.set_row_count(row_count);
  tensor.clear_row_stride();
  tensor.set_data_type(v1::DATA_TYPE_F32);
  v1::CandidateRows& candidates = *tensor.mutable_candidates();
  candidates.clear_rows();
  const std::size_t row_bytes =
      static_cast<std::size_t>(ElementBytes(type)) * (row_stride != 0 ? row_stride : vocab_size);
  for (std::int32_t row = 0; row < row_count; ++row) {
    ReduceRow(rows.subspan(row * row_bytes), type, vocab_size, count, *candidates.add_rows());
  }
}

}  // namespace tokendraw
