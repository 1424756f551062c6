// What the tests of the sampling library share.
#ifndef TOKENDRAW_TESTS_SAMPLING_TESTING_H_
#define TOKENDRAW_TESTS_SAMPLING_TESTING_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <vector>

#include "sampling/patches.h"
#include "sampling/profile.h"
#include "sampling/row.h"
#include "sampling/sampler.h"
#include "sampling/support.h"
#include "tests/oracle/oracle.h"

namespace tokendraw::sampling {

inline constexpr float kInf = std::numeric_limits<float>::infinity();
inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Vocabulary of a current large model.
inline constexpr int32_t kLargeVocab = 151936;

using Row = std::vector<float>;
using IdList = std::vector<int32_t>;

// A row whose softmax is `p`.
inline Row LogitsOf(std::span<const double> p) {
  Row row;
  for (double value : p) row.push_back(static_cast<float>(std::log(value)));
  return row;
}
inline Row LogitsOf(std::initializer_list<double> p) {
  return LogitsOf(std::span<const double>(p.begin(), p.size()));
}

inline RowInput InputOf(const Row& row, RandomKey key = {}) {
  return {.logits = {.data = row.data(), .vocab_size = static_cast<int32_t>(row.size())},
          .key = key};
}

inline float LogitAt(const LogitsRow& row, int32_t id) {
  RowBytes bytes(row);
  return ReadLogit(bytes, id);
}

// Decodes the blocks that ReadRow did not keep to their places in `room`.
inline void DecodeRest(const LogitsRow& row, const std::byte* mask, float* room,
                       std::span<const float*> blocks) {
  RowBytes bytes(row);
  for (size_t i = 0; i < blocks.size(); ++i) {
    if (blocks[i] != nullptr) continue;
    ReadBlock(bytes, mask, i, room + i * kBlockSize);
    blocks[i] = room + i * kBlockSize;
  }
}

inline Row LogitsOf(const FloatRow& row) {
  Row logits;
  for (int32_t id = 0; id < static_cast<int32_t>(row.vocab_size()); ++id) {
    logits.push_back(row.logit(id));
  }
  return logits;
}

// The row as `edit` (Patches&) leaves it.
template <typename Edit>
Row Edited(const Row& row, const Edit& edit) {
  Patches patches;
  const LogitsRow logits = InputOf(row).logits;
  patches.Reset(logits.vocab_size);
  for (int32_t id = 0; id < logits.vocab_size; ++id) patches.Name(id);
  patches.Gather(logits, nullptr);
  edit(patches);
  FloatRow edited;
  edited.Read(logits, nullptr, patches.sorted(), {});
  return LogitsOf(edited);
}

// A row and its survivors.
class Survivors : public Support {
 public:
  explicit Survivors(Row row) : logits_(std::move(row)) {
    row_.Read(InputOf(logits_).logits, nullptr, {}, {});
    Reset(row_);
  }

 private:
  Row logits_;
  FloatRow row_;
};

struct Survivor {
  int32_t id;
  double value;
};

inline std::vector<Survivor> SurvivorsOf(const Support& support) {
  std::vector<Survivor> tokens;
  for (size_t index = 0; index < support.BlockCount(); ++index) {
    const TokenBlock block = support.Block(index);
    for (size_t i = 0; i < block.logits.size(); ++i) {
      if (block.logits[i] != -kInf) tokens.push_back({block.id(i), support.Value(block.logits[i])});
    }
  }
  return tokens;
}

inline IdList IdsOf(const Support& support) {
  IdList ids;
  for (const Survivor& token : SurvivorsOf(support)) ids.push_back(token.id);
  return ids;
}

inline std::vector<double> ValuesOf(const Support& support) {
  std::vector<double> values;
  for (const Survivor& token : SurvivorsOf(support)) values.push_back(token.value);
  return values;
}

// 0 .. n - 1.
inline IdList FirstIds(size_t n) {
  IdList ids;
  for (size_t i = 0; i < n; ++i) ids.push_back(static_cast<int32_t>(i));
  return ids;
}

// The draws of one row; a row error fails the test.
inline std::vector<Draw> DrawsOf(const Params& params, const RowInput& row) {
  RowResult result = Sampler().Sample(params, row);
  EXPECT_EQ(result.error, RowErrorCode::kNone);
  if (result.draws.empty()) result.draws.emplace_back();
  return result.draws;
}

inline Draw DrawOf(const Params& params, const RowInput& row) {
  return DrawsOf(params, row).front();
}

inline int32_t TokenOf(const Params& params, const Row& row, RandomKey key = {}) {
  return DrawOf(params, InputOf(row, key)).token_id;
}

// Ids of the tokens that the draw is made from.
inline IdList KeptIds(Params params, const RowInput& row) {
  params.return_kept = true;
  return DrawOf(params, row).kept_ids;
}
inline IdList KeptIds(const Params& params, const Row& row) {
  return KeptIds(params, InputOf(row));
}

// By token id, the probabilities that log-probabilities of `mode` report; 0 if there is none.
inline std::vector<double> Probabilities(Params params, const RowInput& row,
                                         LogprobMode mode = LogprobMode::kProcessed) {
  params.logprobs = mode;
  params.top_logprobs = row.logits.vocab_size;
  std::vector<double> p(row.logits.vocab_size, 0.0);
  const Draw draw = DrawOf(params, row);
  for (const TokenLogprob& entry : draw.top_logprobs) {
    p[entry.token_id] = std::exp(entry.logprob);
  }
  return p;
}
inline std::vector<double> Probabilities(const Params& params, const Row& row,
                                         LogprobMode mode = LogprobMode::kProcessed) {
  return Probabilities(params, InputOf(row), mode);
}

// Matches probabilities that are given with four decimals.
inline auto NearEach(const std::vector<double>& expected, double tolerance = 5.1e-5) {
  std::vector<testing::Matcher<double>> matchers;
  for (double value : expected) matchers.push_back(testing::DoubleNear(value, tolerance));
  return testing::ElementsAreArray(matchers);
}

// N(0, stddev) logits.
inline Row GaussianRow(size_t size, double stddev, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0.0f, static_cast<float>(stddev));
  Row row(size);
  for (float& x : row) x = normal(random);
  return row;
}

// Gaussian with a few likely tokens at scattered ids, like the row of a language model.
inline Row PeakedRow(size_t size, uint32_t seed) {
  Row row = GaussianRow(size, 2.0, seed);
  for (size_t i = 0; i < 12; ++i)
    row[(seed + 7919 * (i + 1)) % size] = 22.0f - static_cast<float>(i) / 2;
  return row;
}

// A row, the value of a filter's parameter, and the ids that the filter must keep.
struct FilterCase {
  const char* name;
  Row row;
  double value;
  IdList kept;
  int32_t min_keep = 1;
};

// Checks `cases` on the filter alone, and on a chain that consists of it.
template <typename Value, typename Apply>
void CheckFilter(Filter filter, Value Params::*field, const Apply& apply,
                 const std::vector<FilterCase>& cases) {
  for (const FilterCase& c : cases) {
    SCOPED_TRACE(c.name);
    const auto value = static_cast<Value>(c.value);
    Survivors support(c.row);
    apply(value, c.min_keep, support);
    EXPECT_EQ(IdsOf(support), c.kept);

    Params params{.min_keep = c.min_keep, .chain = {filter}};
    params.*field = value;
    EXPECT_EQ(KeptIds(params, c.row), IsGreedy(params) ? IdList{c.kept[0]} : c.kept);
  }
}

// At the vocabulary of a large model the filter must still do its work.
inline void ExpectCutsLargeRow(const Params& params) {
  const Row row = PeakedRow(kLargeVocab, 5);
  const oracle::OracleDraw expected = oracle::Sample(params, InputOf(row)).draws.front();
  ASSERT_TRUE(expected.IsCertain());
  ASSERT_LT(expected.kept_ids.size(), row.size());
  EXPECT_EQ(KeptIds(params, row), expected.kept_ids);
}

}  // namespace tokendraw::sampling

#endif  // TOKENDRAW_TESTS_SAMPLING_TESTING_H_
