// Rows as a whole, cut once, against the same rows listed from the start, and against the oracle.
#include <cstdlib>

#include "sampling/chain.h"
#include "sampling/draw.h"
#include "tests/sampling/random_case.h"
#include "tests/sampling/testing.h"
#include "tests/sanitizers.h"

namespace tokendraw::sampling {
namespace {

int RowsToTry(int otherwise) {
  const char* wanted = std::getenv("TOKENDRAW_ORACLE_ROWS");
  return wanted == nullptr ? otherwise : std::atoi(wanted);
}

struct Paths {
  Support whole, listed;
  FloatRow row;
  EditBuffers buffers;
  int rows = 0, uncertain = 0, cut = 0;
};

// Both ways must agree with the oracle wherever that is certain.
void Compare(const RandomCase& test_case, Paths& paths) {
  const RowInput input = test_case.Input();
  const Params& params = test_case.params;
  const int32_t error = ReadAndEdit(params, input, paths.buffers, paths.row);
  const oracle::OracleResult expected = oracle::Sample(params, input);
  ASSERT_EQ(error, expected.error_token);
  ASSERT_EQ(error < 0 && paths.row.max() == -kInf, expected.error == RowErrorCode::kNoCandidate);
  if (expected.error != RowErrorCode::kNone || IsGreedy(params)) return;
  ++paths.rows;
  for (int32_t i = 0; i < input.sample_count; ++i) {
    const oracle::OracleDraw& draw = expected.draws[static_cast<size_t>(i)];
    if (!draw.IsCertain()) {
      ++paths.uncertain;
      continue;
    }
    paths.whole.Reset(paths.row, 0);
    paths.listed.Reset(paths.row, paths.row.vocab_size());
    for (Support* support : {&paths.whole, &paths.listed}) {
      const bool skips_xtc =
          params.xtc_skip_constrained && (input.allowed_mask || !params.allowed_ids.empty());
      const bool xtc_acts = !skips_xtc && XtcActs(params, input.key, i);
      ASSERT_EQ(ApplyFilters(params, input, xtc_acts, *support), draw.xtc_applied);
      ASSERT_EQ(IdsOf(*support), draw.kept_ids) << (support == &paths.whole ? "whole" : "listed");
      if (params.adaptive_target >= 0) continue;  // draws from other logits
      ASSERT_EQ(DrawToken(*support, input.key, i), draw.token_id);
    }
    paths.cut += draw.kept_ids.size() < paths.row.vocab_size();
  }
}

TEST(RowPathTest, WholeRowsAndListsAndTheOracleAgree) {
  const int rows = RowsToTry(6000);
  Paths paths;
  for (int i = 0; i < rows; ++i) {
    const int32_t large = i * 61 % 4096 + 1;
    const int32_t vocab_size = i % 16 == 0 ? large : i % 300 + 1;
    SCOPED_TRACE("case " + std::to_string(i) + ", V = " + std::to_string(vocab_size));
    Compare(MakeRandomCase(static_cast<uint32_t>(5000000 + i), vocab_size), paths);
    if (testing::Test::HasFatalFailure()) return;
  }
  EXPECT_GT(paths.rows, rows / 2);
  EXPECT_GT(paths.cut, rows / 3);
  EXPECT_LT(paths.uncertain, 0.05 * paths.rows);
}

TEST(RowPathTest, LargeVocabularies) {
  Paths paths;
  for (int i = 0; i < 32; ++i) {
    const int32_t vocab_size = i % 2 == 0 ? kLargeVocab : 262144;
    SCOPED_TRACE("case " + std::to_string(i) + ", V = " + std::to_string(vocab_size));
    Compare(MakeRandomCase(static_cast<uint32_t>(6000000 + i), vocab_size), paths);
    if (testing::Test::HasFatalFailure()) return;
  }
  EXPECT_GT(paths.cut, 10);
}

// One chain over rows from sharp to flat, so that each way to find the cut is taken.
TEST(RowPathTest, CutsByMassOnRowsFromSharpToFlat) {
  Paths paths;
  RandomCase test_case;
  test_case.vocab_size = 20000;
  test_case.sample_count = 2;
  test_case.params.return_kept = true;
  for (const double stddev : {0.0, 1e-4, 0.1, 0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 10.0, 30.0}) {
    for (const double mass : {1e-9, 0.01, 0.3, 0.5, 0.9, 0.99, 0.9999, 1 - 1e-7}) {
      for (const double temperature : {1.0, 0.6}) {
        const Row row = GaussianRow(20000, stddev, 11);
        test_case.data.assign(reinterpret_cast<const std::byte*>(row.data()),
                              reinterpret_cast<const std::byte*>(row.data() + row.size()));
        SCOPED_TRACE(testing::Message() << stddev << " " << mass << " " << temperature);
        for (const bool typical : {false, true}) {
          test_case.params.top_p = typical ? 1 : mass;
          test_case.params.typical_p = typical ? mass : 1;
          test_case.params.temperature = temperature;
          test_case.params.chain = {Filter::kTemperature, Filter::kTypicalP, Filter::kTopP};
          Compare(test_case, paths);
          if (testing::Test::HasFatalFailure()) return;
        }
      }
    }
  }
  EXPECT_GT(paths.cut, 200);
}

// 262,144 tokens of p = 1.25e-9 beside one that has all the rest: a sampler that adds p up in
// float32, or cuts off its noise, never draws them. Of 65,536 draws 21.5 should; the count is
// Poisson, and outside of [3, 47] once in two million seeds.
TEST(RowPathTest, AFarTailIsDrawnAsOftenAsItShould) {
#if defined(TOKENDRAW_ASAN)
  GTEST_SKIP() << "17 billion random numbers take too long under AddressSanitizer";
#endif
  constexpr size_t kTail = 262144;
  Row row(kTail + 1, static_cast<float>(std::log(1.25e-9)));
  row[777] = 0;
  RowInput input = InputOf(row, {.seed = 60});
  input.sample_count = kMaxSampleCount;
  int tail = 0, upper_half = 0;
  for (const Draw& draw : DrawsOf({}, input)) {
    tail += draw.token_id != 777;
    upper_half += draw.token_id > static_cast<int32_t>(kTail / 2);
  }
  EXPECT_GE(tail, 3);
  EXPECT_LE(tail, 47);
  EXPECT_GE(upper_half, 1);
  EXPECT_LT(upper_half, tail);
}

}  // namespace
}  // namespace tokendraw::sampling
