#include <algorithm>
#include <cstddef>

#include "sampling/filters.h"
#include "tests/oracle/philox.h"
#include "tests/sampling/testing.h"

namespace tokendraw::sampling {
namespace {

struct XtcCase {
  const char* name;
  Row row;
  double threshold;
  IdList kept;
  IdList protected_ids;
  int32_t min_keep = 1;
};

TEST(XtcTest, Probability1RemovesAllAboveButTheLeastProbable) {
  const Row row = LogitsOf({0.05, 0.5, 0.15, 0.3});  // order: 1 3 2 0
  const Row quarters(4, 0.5f);                       // all exactly 0.25
  const Row twos = LogitsOf({0.2, 0.4, 0.2, 0.2});
  for (const XtcCase& c : std::vector<XtcCase>{
           {"threshold just below the third", row, 0.149, {0, 2}},
           {"threshold just above the third", row, 0.151, {0, 2, 3}},
           {"threshold just below the second", row, 0.299, {0, 2, 3}},
           {"just above the second: one token above", row, 0.301, {0, 1, 2, 3}},
           {"all above", row, 0.01, {0}},
           {"above one half it never acts", row, 0.51, {0, 1, 2, 3}},
           {"exactly at the threshold, tied", quarters, 0.25, {0}},
           {"a little above the threshold", quarters, 0.2500001, {0, 1, 2, 3}},
           {"two halves", {0, 0}, 0.5, {0}},
           {"lowest id among the least", twos, 0.1, {0}},
           {"lowest id among the least, not the first", LogitsOf({0.4, 0.2, 0.2, 0.2}), 0.1, {1}},
           {"masked tokens do not count", {-kInf, 2, -kInf, 2}, 0.4, {1}},
           {"a protected token stays", row, 0.1, {0, 1, 2}, {1}},
           {"a protected token counts as above", row, 0.2, {0, 1, 2, 3}, {1}},
           {"the least is protected", row, 0.1, {0, 2}, {2}},
           {"all but the least are protected", row, 0.1, {0, 1, 2, 3}, {3, 1}},
           {"protected below the threshold", row, 0.2, {0, 2, 3}, {0}},
           {"protected id not in the row", row, 0.2, {0, 2, 3}, {400}},
           {"as many as min_keep stay", row, 0.1, {0, 2}, {}, 2},
           {"fewer than min_keep would stay", row, 0.1, {0, 1, 2, 3}, {}, 3},
           {"one token", {1}, 0.1, {0}},
           {"largest finite logits", {3e38f, -3e38f, 3e38f}, 0.1, {0, 1}},
       }) {
    SCOPED_TRACE(c.name);
    Survivors support(c.row);
    const size_t before = support.Size();
    const bool removed = ApplyXtc(c.threshold, c.protected_ids, {}, c.min_keep, support);
    EXPECT_EQ(IdsOf(support), c.kept);
    EXPECT_EQ(removed, support.Size() < before);

    Params params{.xtc_probability = 1,
                  .xtc_threshold = c.threshold,
                  .xtc_protected_ids = c.protected_ids,
                  .min_keep = c.min_keep,
                  .return_kept = true};
    const Draw draw = DrawOf(params, InputOf(c.row));
    EXPECT_EQ(draw.kept_ids, c.kept);
    EXPECT_EQ(draw.xtc_applied, removed);
  }
}

TEST(XtcTest, OneAboveThresholdTokenIsNeverRemoved) {
  for (uint32_t seed = 0; seed < 50; ++seed) {
    Row row = GaussianRow(30, 1, seed);
    row[seed % 30] = 12;
    const Params params{.xtc_probability = 1, .xtc_threshold = 0.01};
    EXPECT_EQ(KeptIds(params, row), FirstIds(30));
    EXPECT_EQ(TokenOf(params, row), static_cast<int32_t>(seed % 30));
  }
}

TEST(XtcTest, Probability0IsByteIdenticalToNoXtc) {
  Params with{.xtc_probability = 0, .xtc_threshold = 0.01, .return_kept = true};
  with.logprobs = LogprobMode::kProcessed;
  with.top_logprobs = 5;
  Params without = with;
  std::erase(without.chain, Filter::kXtc);
  for (uint32_t seed = 0; seed < 100; ++seed) {
    const Row row = GaussianRow(60, 2, seed);
    const Draw a = DrawOf(with, InputOf(row, {seed}));
    const Draw b = DrawOf(without, InputOf(row, {seed}));
    EXPECT_EQ(a.token_id, b.token_id);
    EXPECT_EQ(a.logprob, b.logprob);
    EXPECT_EQ(a.kept_ids, b.kept_ids);
    EXPECT_EQ(a.kept_mass, b.kept_mass);
    EXPECT_FALSE(a.xtc_applied);
    ASSERT_EQ(a.top_logprobs.size(), b.top_logprobs.size());
    for (size_t i = 0; i < a.top_logprobs.size(); ++i) {
      EXPECT_EQ(a.top_logprobs[i].token_id, b.top_logprobs[i].token_id);
      EXPECT_EQ(a.top_logprobs[i].logprob, b.top_logprobs[i].logprob);
    }
  }
}

TEST(XtcTest, SupportIsNeverEmpty) {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    const Row row = GaussianRow(seed % 20 + 1, 0.5 + seed % 4, seed);
    for (const double threshold : {1e-300, 0.01, 0.1, 0.5, 1.0}) {
      Survivors support(row);
      ApplyXtc(threshold, {}, {}, 1, support);
      EXPECT_GE(support.Size(), 1u);
    }
  }
}

TEST(XtcTest, TheLastMaskLegalTokenIsNeverRemoved) {
  const Row row = {3, 2.5f, 2, 1, 0};
  const Params params{.xtc_probability = 1, .xtc_threshold = 0.01};
  for (uint8_t legal = 1; legal < 32; ++legal) {
    const std::vector<std::byte> mask = {std::byte{legal}, {}, {}, {}};
    RowInput input = InputOf(row);
    input.allowed_mask = mask;
    const IdList kept = KeptIds(params, input);
    ASSERT_EQ(kept.size(), 1u);  // all the legal are above; the least of them stays
    EXPECT_TRUE(legal >> kept[0] & 1);
    EXPECT_EQ(legal >> (kept[0] + 1), 0);
    EXPECT_EQ(DrawOf(params, input).token_id, kept[0]);
  }
}

// With the same key, a draw on which XTC acts equals that of probability 1, any other that of 0.
TEST(XtcTest, TheCoinNeverShiftsTheTokenNoise) {
  const Row row = LogitsOf({0.3, 0.25, 0.2, 0.15, 0.1});
  int acted = 0;
  for (uint64_t position = 0; position < 2000; ++position) {
    const RowInput input = InputOf(row, {.seed = 11, .position = position});
    Params params{.xtc_probability = 0.5, .xtc_threshold = 0.12, .return_kept = true};
    const Draw draw = DrawOf(params, input);
    params.xtc_probability = draw.xtc_applied ? 1 : 0;
    EXPECT_EQ(draw.token_id, DrawOf(params, input).token_id);
    acted += draw.xtc_applied;
  }
  EXPECT_NEAR(acted, 1000, 120);  // 5.4 standard deviations
}

TEST(XtcTest, TheCoinIsTheRowsOwnUniformBelowTheProbability) {
  for (int32_t sample = 0; sample < 4; ++sample) {
    const double u = oracle::Uniform(5, 9, 1, static_cast<uint32_t>(sample), 0);
    for (const bool acts : {false, true}) {
      const Params params{.xtc_probability = acts ? std::nextafter(u, 1.0) : u,
                          .xtc_threshold = 0.1,
                          .return_kept = true};
      const Row row(4, 0.0f);
      RowInput input = InputOf(row, {.seed = 5, .position = 9});
      input.sample_count = 4;
      EXPECT_EQ(DrawsOf(params, input)[static_cast<size_t>(sample)].xtc_applied, acts);
    }
  }
}

TEST(XtcTest, ProtectedIdsStay) {
  for (uint32_t seed = 0; seed < 50; ++seed) {
    const Row row = GaussianRow(12, 0.2, seed);  // all are above
    const Params params{
        .xtc_probability = 1, .xtc_threshold = 0.02, .xtc_protected_ids = {11, 3, 7}};
    const IdList kept = KeptIds(params, row);
    for (const int32_t id : params.xtc_protected_ids) EXPECT_THAT(kept, testing::Contains(id));
    EXPECT_LE(kept.size(), 4u);  // and the least probable
  }
}

TEST(XtcTest, LenientMapsABadThresholdToOff) {
  Params params{.xtc_probability = 1, .xtc_threshold = 0};
  TurnOffBrokenRules(params);
  EXPECT_EQ(params.xtc_probability, 0);
  EXPECT_EQ(KeptIds(params, Row(5, 1.0f)), FirstIds(5));
}

TEST(XtcTest, CutsLargeRow) { ExpectCutsLargeRow({.xtc_probability = 1, .xtc_threshold = 0.05}); }

}  // namespace
}  // namespace tokendraw::sampling
