// The library against the float64 oracle, on random rows, parameters and chains.
#include "tests/oracle/oracle.h"

#include <cstdlib>
#include <map>
#include <string>

#include "tests/sampling/random_case.h"
#include "tests/sampling/testing.h"

namespace tokendraw::sampling {
namespace {

// How the draws of many rows compared.
struct Tally {
  int rows = 0;
  int errors = 0;
  int draws = 0;
  int uncertain = 0;  // near ties, not compared
  int xtc_applied = 0;
  int cut = 0;  // something was filtered
  std::map<std::string, int> kinds;
};

void Compare(const RandomCase& test_case, Tally& tally) {
  const RowInput row = test_case.Input();
  const RowResult actual = Sampler().Sample(test_case.params, row);
  const oracle::OracleResult expected = oracle::Sample(test_case.params, row);

  ++tally.rows;
  ++tally.kinds[test_case.kind];
  ASSERT_EQ(actual.error, expected.error);
  ASSERT_EQ(actual.error_token, expected.error_token);
  ASSERT_EQ(actual.draws.size(), expected.draws.size());
  if (expected.error != RowErrorCode::kNone) ++tally.errors;
  for (size_t i = 0; i < expected.draws.size(); ++i) {
    ++tally.draws;
    if (!expected.draws[i].IsCertain()) {
      ++tally.uncertain;
      continue;
    }
    ASSERT_EQ(actual.draws[i].kept_ids, expected.draws[i].kept_ids) << "draw " << i;
    ASSERT_EQ(actual.draws[i].token_id, expected.draws[i].token_id) << "draw " << i;
    ASSERT_EQ(actual.draws[i].xtc_applied, expected.draws[i].xtc_applied);
    ASSERT_EQ(actual.draws[i].greedy, expected.draws[i].greedy);
    tally.xtc_applied += expected.draws[i].xtc_applied;
    tally.cut += expected.draws[i].kept_ids.size() < static_cast<size_t>(test_case.vocab_size);
  }
}

TEST(OracleTest, RandomRowsGiveTheSameKeptSetsAndTokens) {
  const char* wanted = std::getenv("TOKENDRAW_ORACLE_ROWS");
  const int rows = wanted == nullptr ? 3000 : std::atoi(wanted);
  Tally tally;
  for (int i = 0; i < rows; ++i) {
    const int32_t vocab_size = i % 3 == 0 ? i / 3 % 20 + 1 : i % 400 + 1;
    SCOPED_TRACE("case " + std::to_string(i) + ", V = " + std::to_string(vocab_size));
    Compare(MakeRandomCase(static_cast<uint32_t>(i), vocab_size), tally);
    if (HasFatalFailure()) return;
  }
  EXPECT_EQ(tally.rows, rows);
  EXPECT_LT(tally.uncertain, 0.02 * tally.draws);
  if (rows < 3000) return;
  // The cases reach what they are meant to reach.
  EXPECT_GT(tally.draws, 5000);
  EXPECT_GT(tally.cut, 3000);
  EXPECT_GT(tally.xtc_applied, 200);
  EXPECT_GT(tally.errors, 200);
  EXPECT_LT(tally.errors, rows / 3);
  EXPECT_EQ(tally.kinds.size(), 10u);
}

TEST(OracleTest, LargeVocabularies) {
  Tally tally;
  for (int i = 0; i < 24; ++i) {
    const int32_t vocab_size = i % 3 == 0 ? kLargeVocab : 49152;
    SCOPED_TRACE("case " + std::to_string(i) + ", V = " + std::to_string(vocab_size));
    Compare(MakeRandomCase(static_cast<uint32_t>(1000000 + i), vocab_size), tally);
    if (HasFatalFailure()) return;
  }
  // Steps of mass are small here, so near ties are common; half must remain.
  EXPECT_LT(tally.uncertain, tally.draws / 2);
}

// The same answer whatever the object sampled before.
TEST(OracleTest, OneSamplerForAllRowsGivesTheSame) {
  Sampler sampler;
  for (uint32_t i = 0; i < 300; ++i) {
    const RandomCase test_case = MakeRandomCase(i, static_cast<int32_t>(i * 37 % 200 + 1));
    const RowResult reused = sampler.Sample(test_case.params, test_case.Input());
    const RowResult fresh = Sampler().Sample(test_case.params, test_case.Input());
    ASSERT_EQ(reused.error, fresh.error);
    ASSERT_EQ(reused.draws.size(), fresh.draws.size());
    for (size_t draw = 0; draw < fresh.draws.size(); ++draw) {
      ASSERT_EQ(reused.draws[draw].token_id, fresh.draws[draw].token_id);
      ASSERT_EQ(reused.draws[draw].kept_ids, fresh.draws[draw].kept_ids);
      ASSERT_EQ(reused.draws[draw].logprob, fresh.draws[draw].logprob);
    }
  }
}

}  // namespace
}  // namespace tokendraw::sampling
