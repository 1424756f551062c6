// What a worker does to a row (proto/tokendraw/v1/logits.proto), and what must come of it.
#ifndef TOKENDRAW_TESTS_SAMPLING_CANDIDATES_TESTING_H_
#define TOKENDRAW_TESTS_SAMPLING_CANDIDATES_TESTING_H_

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "sampling/params.h"
#include "sampling/types.h"
#include "tests/sampling/testing.h"

namespace tokendraw::sampling {

// Owns what a CandidateRow looks at.
struct Reduced {
  std::vector<int32_t> ids;
  std::vector<float> logits;
  CandidateRow summary;  // without candidates

  CandidateRow Row() const;
};

// The `count` largest of `row`; among equals the lowest ids, or the highest. NaN and +inf come
// first. With them, or without a finite logit, there is no summary.
Reduced Reduce(std::span<const float> row, size_t count, bool highest_ids = false);

// Puts each number of the summary wrong by as much as its accuracy allows, up or down.
void Blur(std::mt19937& random, CandidateRow& summary);

// `whole` with candidates in place of its logits.
RowInput With(const Reduced& reduced, const RowInput& whole);

// Fails the test unless candidates gave what the whole row gave: the same tokens, log-probabilities
// within 1e-5.
void ExpectSame(const RowResult& candidates, const RowResult& whole);

RowResult Sampled(const Params& params, const RowInput& whole, const Reduced& reduced);

// Candidates give what the whole row gives, or need it.
void Expect(bool decided, const Params& params, const RowInput& whole, const Reduced& reduced);
inline void ExpectDecided(const Params& params, const RowInput& whole, const Reduced& reduced) {
  Expect(true, params, whole, reduced);
}
inline void ExpectNeedsRow(const Params& params, const RowInput& whole, const Reduced& reduced) {
  Expect(false, params, whole, reduced);
}
inline void ExpectDecided(const Params& params, const std::vector<float>& row, size_t count) {
  Expect(true, params, InputOf(row), Reduce(row, count));
}
inline void ExpectNeedsRow(const Params& params, const std::vector<float>& row, size_t count) {
  Expect(false, params, InputOf(row), Reduce(row, count));
}

inline constexpr size_t kVocab = 600;

// Ids by rank: the largest logit is that of token 0.
std::vector<float> SortedRow();

// Of each filter, one that keeps some tokens of SortedRow.
struct NamedParams {
  const char* name;
  Params params;
};
std::vector<NamedParams> Cuts();

}  // namespace tokendraw::sampling

#endif  // TOKENDRAW_TESTS_SAMPLING_CANDIDATES_TESTING_H_
