// Whatever candidates decide is what the whole row gives; and they decide what they can.
#include <algorithm>
#include <cstdlib>
#include <map>

#include "tests/sampling/candidates_testing.h"
#include "tests/sampling/random_case.h"
#include "tests/sampling/testing.h"

namespace tokendraw::sampling {
namespace {

// Of rows that the whole row can sample.
struct Tally {
  int rows = 0;
  int decided = 0;
  int cut = 0;  // and more than one token stayed
  int xtc_applied = 0;
  int greedy = 0;
  int errors = 0;  // told by both

  double Share() const { return static_cast<double>(decided) / rows; }
};

// Samples rows both ways.
class BothWays {
 public:
  void Compare(const Params& params, const RowInput& whole, const Reduced& reduced, Tally& tally) {
    sampler_.Sample(params, whole, expected_);
    sampler_.Sample(params, With(reduced, whole), actual_);
    tally.rows += expected_.error == RowErrorCode::kNone;
    if (actual_.error == RowErrorCode::kNeedFullRow) {
      EXPECT_TRUE(actual_.draws.empty());
      return;
    }
    ExpectSame(actual_, expected_);
    if (actual_.error != RowErrorCode::kNone) {
      ++tally.errors;
      return;
    }
    ++tally.decided;
    const Draw& draw = actual_.draws.front();
    tally.cut += draw.kept_count > 1 && draw.kept_count < whole.logits.vocab_size;
    tally.xtc_applied += draw.xtc_applied;
    tally.greedy += draw.greedy;
  }

 private:
  Sampler sampler_;
  RowResult expected_, actual_;
};

Row DecodedRow(const RandomCase& test_case) {
  Row row;
  for (int32_t id = 0; id < test_case.vocab_size; ++id) {
    row.push_back(LogitAt(test_case.Input().logits, id));
  }
  return row;
}

// All kinds of details; every other case with few edits.
RandomCase MakeCase(uint32_t i, int32_t vocab_size) {
  RandomCase test_case = MakeRandomCase(8000000 + i, vocab_size);
  Params& params = test_case.params;
  if (i % 3 == 0) params.logprobs = LogprobMode::kRaw;
  if (i % 5 == 0) params.top_logprobs = static_cast<int32_t>(i % 4);
  if (i % 7 == 0) params.logprob_ids = {static_cast<int32_t>(i) % vocab_size, 0};
  if (i % 11 == 0) params.return_kept = false, params.logprobs = LogprobMode::kNone;
  if (i % 2 == 0) {
    params.repetition_penalty = 1, params.frequency_penalty = params.presence_penalty = 0;
    params.dry_multiplier = 0;
    params.no_repeat_ngram_size = params.min_tokens = 0;
    params.bad_token_sequences.clear();
    if (i % 4 == 0) params.logit_bias.clear();
    if (i % 3 != 0) test_case.mask.clear(), params.allowed_ids.clear();
  }
  return test_case;
}

TEST(CandidatesPropertyTest, RandomRowsGiveTheSameOrNothing) {
  const char* wanted = std::getenv("TOKENDRAW_ORACLE_ROWS");
  const int cases = wanted == nullptr ? 6000 : std::atoi(wanted);
  BothWays ways;
  std::mt19937 random(1);
  std::map<size_t, Tally> by_count;
  Tally complete;
  for (int i = 0; i < cases; ++i) {
    const int32_t vocab_size = i % 20 == 0 ? 5000 : i % 400 + 2;
    const RandomCase test_case = MakeCase(static_cast<uint32_t>(i), vocab_size);
    const Row row = DecodedRow(test_case);
    for (const size_t count :
         {size_t{1}, size_t{2}, size_t{8}, size_t{64}, size_t{256}, row.size() - 1, row.size()}) {
      if (count > row.size()) continue;
      SCOPED_TRACE(testing::Message() << "case " << i << ", " << count << " of " << row.size()
                                      << ", " << test_case.kind);
      Reduced reduced = Reduce(row, count, i % 3 == 1);
      if (i % 4 != 3) Blur(random, reduced.summary);
      ways.Compare(test_case.params, test_case.Input(), reduced,
                   count == row.size() ? complete : by_count[count]);
      if (HasFailure()) return;
    }
  }
  EXPECT_EQ(complete.decided, complete.rows);
  if (cases < 6000) return;
  // The cases reach what they are meant to reach.
  EXPECT_GT(by_count[2].Share(), 0.05);
  EXPECT_GT(by_count[8].Share(), 0.12);
  EXPECT_GT(by_count[64].Share(), 0.25);
  EXPECT_GT(by_count[256].Share(), 0.35);
  EXPECT_GT(by_count[64].cut, 300);
  EXPECT_GT(by_count[64].xtc_applied, 50);
  EXPECT_GT(by_count[64].greedy, 30);
  EXPECT_GT(by_count[64].errors, 300);
}

// What workers send: 256 of a large vocabulary. Almost none of the usual chains needs more.
TEST(CandidatesPropertyTest, UsualChainsAreDecided) {
  const Params usual[] = {
      {.temperature = 0},
      {.temperature = 0.8, .top_k = 40, .top_p = 0.95, .min_p = 0.05},
      {.temperature = 0.8, .top_p = 0.95},
      {.temperature = 1.2, .top_p = 0.9},
      {.typical_p = 0.9},
      {.temperature = 0.8, .top_p = 0.95, .typical_p = 0.9, .xtc_probability = 0.5},
      {.temperature = 0.7, .min_p = 0.1, .top_n_sigma = 1},
      {.p_less = true},
      {.min_p = 0.02, .repetition_penalty = 1.1f},
      {.top_p = 0.9, .frequency_penalty = 0.3f, .presence_penalty = 0.1f},
  };
  IdList history;
  for (int32_t i = 0; i < 300; ++i) history.push_back(i * 64);
  BothWays ways;
  std::mt19937 random(2);
  for (size_t chain = 0; chain < std::size(usual); ++chain) {
    Tally tally;
    for (uint32_t i = 0; i < 50; ++i) {
      SCOPED_TRACE(testing::Message() << "chain " << chain << ", row " << i);
      const Row row = PeakedRow(20000, i);
      RowInput input = InputOf(row, {.seed = i});
      input.history.output_ids = history;
      Reduced reduced = Reduce(row, 256);
      Blur(random, reduced.summary);
      Params params = usual[chain];
      params.return_kept = i % 2 == 0 && params.temperature != 0;
      params.top_logprobs = 20;
      ways.Compare(params, input, reduced, tally);
    }
    EXPECT_GE(tally.decided, 47) << "chain " << chain;
  }
}

// Parameters at which a token that the whole row keeps is nearer to the cut than the summary is
// accurate: candidates may not tell. A little farther they must.
TEST(CandidatesPropertyTest, NearTiesAreNotGuessed) {
  BothWays ways;
  std::mt19937 random(3);
  Tally near, far;
  for (int i = 0; i < 600; ++i) {
    SCOPED_TRACE(i);
    Row row = GaussianRow(5000, 2.5, static_cast<uint32_t>(i));
    std::sort(row.begin(), row.end(), std::greater<>());
    const Reduced exact = Reduce(row, 300);
    const auto k = static_cast<size_t>(i % 40 + 1);
    double before = 0;
    for (size_t j = 0; j < k; ++j) before += std::exp(row[j] - *exact.summary.log_sum_exp);
    for (const double off : {1e-7, -1e-7, 6e-7, -6e-7, 2e-5, -2e-5}) {
      Params params{.top_k = 250, .return_kept = true};
      params.chain = {Filter::kTopNSigma, Filter::kXtc, Filter::kTopP, Filter::kTopK};
      if (i % 3 == 0) params.top_p = before * (1 + off);
      if (i % 3 == 1) {
        params.top_n_sigma = (row[0] - row[k]) / *exact.summary.logit_stddev * (1 + off);
      }
      if (i % 3 == 2) {
        params.xtc_probability = 1;
        params.xtc_threshold = std::exp(row[k] - *exact.summary.log_sum_exp) * (1 + off);
      }
      Reduced reduced = exact;
      Blur(random, reduced.summary);
      ways.Compare(params, InputOf(row), reduced, std::abs(off) > 1e-5 ? far : near);
    }
    if (HasFailure()) return;
  }
  EXPECT_LT(near.Share(), 0.05);
  EXPECT_EQ(far.Share(), 1);
}

// Many tokens near both ends of the interval that typical_p keeps, and near the cut of p_less.
TEST(CandidatesPropertyTest, DenseRowsAreNotGuessed) {
  BothWays ways;
  std::mt19937 random(4);
  Tally typical, p_less;
  for (uint32_t i = 0; i < 400; ++i) {
    SCOPED_TRACE(i);
    const Row row = GaussianRow(6000, 0.2, i);
    Reduced reduced = Reduce(row, 5900);
    Blur(random, reduced.summary);
    const double mass = 0.2 + 0.001 * i;
    ways.Compare({.typical_p = mass, .return_kept = true}, InputOf(row), reduced, typical);
    ways.Compare({.p_less = true, .return_kept = true}, InputOf(row), reduced, p_less);
    if (HasFailure()) return;
  }
  for (const Tally& tally : {typical, p_less}) {
    EXPECT_GT(tally.Share(), 0.5);
    EXPECT_LT(tally.Share(), 0.95);
  }
}

}  // namespace
}  // namespace tokendraw::sampling
