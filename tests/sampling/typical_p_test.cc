#include <algorithm>
#include <bit>

#include "sampling/filters.h"
#include "tests/sampling/testing.h"

namespace tokendraw::sampling {
namespace {

TEST(TypicalPTest, KeepsTheMostTypicalWhileTheMassBeforeIsBelow) {
  const Row three = LogitsOf({0.45, 0.275, 0.275});      // order: 1 2 0
  const Row four = LogitsOf({0.5, 0.25, 0.125, 0.125});  // order: 1 0 2 3
  const Row quarters(4, -2.0f);                          // all exactly 0.25 and equally typical
  CheckFilter(Filter::kTypicalP, &Params::typical_p,
              [](auto value, int32_t min_keep, Support& support) {
                ApplyTypicalP(value, MassCut::kBelow, min_keep, support);
              },
              {
                  {"off", three, 1.0, {0, 1, 2}},
                  {"the argmax can go", three, 0.3, {1, 2}},
                  {"just below the first", three, 0.274, {1}},
                  {"just above the first", three, 0.276, {1, 2}},
                  {"just below the second", three, 0.549, {1, 2}},
                  {"just above the second", three, 0.551, {0, 1, 2}},
                  {"smallest", four, 1e-300, {1}},
                  {"four, just below the first", four, 0.249, {1}},
                  {"four, just above the first", four, 0.251, {0, 1}},
                  {"four, just below the second", four, 0.749, {0, 1}},
                  {"four, just above the second: tied by id", four, 0.751, {0, 1, 2}},
                  {"four, just below the third", four, 0.874, {0, 1, 2}},
                  {"four, just above the third", four, 0.876, {0, 1, 2, 3}},
                  {"mass before is exactly the cut", quarters, 0.5, {0, 1}},
                  {"a little over the cut", quarters, 0.5000001, {0, 1, 2}},
                  {"masked tokens do not count", {-kInf, 1, 1, -kInf, 1, 1}, 0.5, {1, 2}},
                  {"min_keep below the cut", four, 0.751, {0, 1, 2}, 2},
                  {"min_keep takes the most typical", four, 0.1, {0, 1}, 2},
                  {"min_keep takes ties by id", four, 0.1, {0, 1, 2}, 3},
                  {"min_keep above V", four, 0.1, {0, 1, 2, 3}, 5},
                  {"one token", {9}, 0.1, {0}},
                  {"a certain token", {10, 0, 0, 0, 0}, 0.3, {0}},
                  {"largest finite logits", {3e38f, -3e38f, 3e38f}, 0.4, {0}},
              });
}

TEST(TypicalPTest, MatchesFloat64HostReference) {
  int compared = 0;
  for (uint32_t seed = 0; seed < 40; ++seed) {
    const Row row = GaussianRow(8 + 193 * seed / 40, 3.0, seed);
    for (const double typical_p : {0.2, 0.5, 0.9, 0.95}) {
      SCOPED_TRACE(testing::Message() << "row " << seed << ", typical_p " << typical_p);
      const Params params{.typical_p = typical_p};
      const oracle::OracleDraw expected = oracle::Sample(params, InputOf(row)).draws.front();
      if (!expected.IsCertain()) continue;
      ++compared;
      EXPECT_EQ(KeptIds(params, row), expected.kept_ids);
      EXPECT_EQ(TokenOf(params, row), expected.token_id);
    }
  }
  EXPECT_GE(compared, 158);
}

TEST(TypicalPTest, OneLeavesRowsBitEqual) {
  for (uint32_t seed = 0; seed < 20; ++seed) {
    const Row row = GaussianRow(100, 3.0, seed);
    Survivors support(row);
    ApplyTypicalP(1.0, MassCut::kBelow, 1, support);
    EXPECT_EQ(ValuesOf(support), std::vector<double>(row.begin(), row.end()));
  }
}

TEST(TypicalPTest, SmallerKeepsFewer) {
  for (uint32_t seed = 0; seed < 20; ++seed) {
    const Row row = GaussianRow(150, 1.0, seed);
    IdList larger = FirstIds(row.size());
    for (const double typical_p : {0.95, 0.5, 0.1}) {
      const IdList kept = KeptIds(Params{.typical_p = typical_p}, row);
      EXPECT_LT(kept.size(), larger.size());
      EXPECT_TRUE(std::includes(larger.begin(), larger.end(), kept.begin(), kept.end()));
      larger = kept;
    }
  }
}

TEST(TypicalPTest, TheArgmaxCanGo) {
  const Row row = LogitsOf({0.45, 0.275, 0.275});
  for (uint64_t seed = 0; seed < 200; ++seed) {
    EXPECT_NE(TokenOf(Params{.typical_p = 0.3}, row, {seed}), 0);
  }
}

TEST(TypicalPTest, MaskedEntriesChangeNeitherEntropyNorKeptSet) {
  const Row row = GaussianRow(40, 3.0, 17);
  Row padded;  // each token is preceded by a masked one
  for (float x : row) padded.insert(padded.end(), {-kInf, x});
  Survivors plain(row), with_masked(padded);
  EXPECT_EQ(plain.SumExp(), with_masked.SumExp());
  EXPECT_EQ(plain.Mean(), with_masked.Mean());
  for (const double typical_p : {0.2, 0.5, 0.9}) {
    IdList expected = KeptIds(Params{.typical_p = typical_p}, row);
    EXPECT_LT(expected.size(), row.size());
    for (int32_t& id : expected) id = 2 * id + 1;
    EXPECT_EQ(KeptIds(Params{.typical_p = typical_p}, padded), expected);
  }
}

TEST(TypicalPTest, GreedySkipsIt) {
  const Row row = LogitsOf({0.45, 0.275, 0.275});
  EXPECT_EQ(TokenOf(Params{.temperature = 0, .typical_p = 0.3}, row), 0);
  EXPECT_EQ(TokenOf(Params{.top_k = 1, .typical_p = 0.3}, row), 0);
}

TEST(TypicalPTest, SixtyFourEqualRowsAlwaysGiveTheCertainToken) {
  Sampler sampler;
  const Row row = {10, 0, 0, 0, 0};
  for (uint64_t i = 0; i < 64; ++i) {
    const RowResult result = sampler.Sample({.typical_p = 0.3}, InputOf(row, {.position = i}));
    ASSERT_EQ(result.draws.size(), 1u);
    EXPECT_EQ(result.draws[0].token_id, 0);
  }
}

TEST(TypicalPTest, LenientMapsOutOfRangeToOff) {
  for (const double value : {0.0, -0.5, 1.5, std::nan(""), double{kInf}, -double{kInf}}) {
    Params params{.typical_p = value};
    ASSERT_EQ(BrokenRules(params).size(), 1u);
    EXPECT_STREQ(BrokenRules(params)[0]->text, "typical_p must be in (0.0, 1.0]");
    TurnOffBrokenRules(params);
    EXPECT_EQ(params.typical_p, 1.0);
    EXPECT_EQ(KeptIds(params, LogitsOf({0.45, 0.275, 0.275})), (IdList{0, 1, 2}));
  }
}

TEST(TypicalPTest, CutsLargeRow) { ExpectCutsLargeRow({.typical_p = 0.5}); }

}  // namespace
}  // namespace tokendraw::sampling
