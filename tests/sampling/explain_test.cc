#include "sampling/explain.h"

#include <algorithm>
#include <cmath>

#include "tests/sampling/random_case.h"
#include "tests/sampling/testing.h"

namespace tokendraw::sampling {
namespace {

using ::testing::ElementsAre;

Explanation Explain(const Params& params, const Row& row, RandomKey key = {}) {
  return ExplainRow(params, InputOf(row, key), 0, 10);
}

const ExplainedToken& TokenWith(const Explanation& explanation, int32_t id) {
  const auto found = std::ranges::find(explanation.tokens, id, &ExplainedToken::id);
  EXPECT_NE(found, explanation.tokens.end()) << id;
  return *found;
}

TEST(ExplainTest, TypicalPRemovesTheMostProbable) {
  const Explanation explanation = Explain({.typical_p = 0.3}, LogitsOf({0.45, 0.275, 0.275}));
  ASSERT_EQ(explanation.stages.size(), 2u);
  const Stage& edits = explanation.stages[0];
  EXPECT_FALSE(edits.filter.has_value());
  EXPECT_EQ(edits.before, 3);
  EXPECT_EQ(edits.after, 3);
  EXPECT_EQ(edits.mass_removed, 0);
  EXPECT_FALSE(edits.threshold.has_value());
  const Stage& stage = explanation.stages[1];
  EXPECT_EQ(stage.filter, Filter::kTypicalP);
  EXPECT_EQ(stage.before, 3);
  EXPECT_EQ(stage.after, 2);
  EXPECT_NEAR(stage.mass_removed, 0.45, 1e-7);
  EXPECT_NEAR(stage.entropy_before, 1.0693698, 1e-6);
  EXPECT_NEAR(stage.entropy_after, std::log(2), 1e-6);
  EXPECT_NEAR(*stage.threshold, 0.2216144, 1e-6);  // -ln .275 - H
  EXPECT_NEAR(*stage.next, 0.2708621, 1e-6);       // H + ln .45
  const ExplainedToken& first = explanation.tokens[0];
  EXPECT_EQ(first.id, 0);
  EXPECT_EQ(first.removed_by, 1);
  EXPECT_THAT(first.probabilities,
              ElementsAre(testing::DoubleNear(0.45, 1e-7), testing::DoubleNear(0.45, 1e-7), 0));
  EXPECT_FALSE(TokenWith(explanation, 1).removed_by.has_value());
  EXPECT_NEAR(TokenWith(explanation, 1).probabilities[2], 0.5, 1e-7);
}

TEST(ExplainTest, TheMaskAndTheEditsAreAStage) {
  const std::vector<std::byte> mask = {std::byte{0b1110}, {}, {}, {}};
  const Row row = LogitsOf({0.4, 0.3, 0.2, 0.1});
  RowInput input = InputOf(row);
  input.allowed_mask = mask;
  const Explanation explanation = ExplainRow({.logit_bias = {{2, -kInf}, {3, 1.5f}}}, input, 0, 10);
  ASSERT_EQ(explanation.stages.size(), 1u);
  EXPECT_EQ(explanation.stages[0].before, 4);
  EXPECT_EQ(explanation.stages[0].after, 2);
  EXPECT_NEAR(explanation.stages[0].mass_removed, 0.6, 1e-7);
  EXPECT_EQ(TokenWith(explanation, 0).removed_by, 0);
  EXPECT_FALSE(TokenWith(explanation, 2).edited_logit.has_value());
  EXPECT_EQ(TokenWith(explanation, 3).logit, row[3]);
  EXPECT_EQ(TokenWith(explanation, 3).edited_logit, row[3] + 1.5f);
  EXPECT_EQ(explanation.tokens[0].id, 3) << "by what they are after the edits";
}

TEST(ExplainTest, CutsSayWhereTheyAre) {
  const Row row = LogitsOf({0.5, 0.25, 0.15, 0.1});
  const auto stage_of = [&](const Params& params) { return Explain(params, row).stages.back(); };
  const Stage min_p = stage_of({.min_p = 0.4});
  EXPECT_NEAR(*min_p.threshold, 0.25, 1e-7);
  EXPECT_NEAR(*min_p.next, 0.15, 1e-7);
  const Stage all = stage_of({.min_p = 0.1});
  EXPECT_NEAR(*all.threshold, 0.1, 1e-7);
  EXPECT_FALSE(all.next.has_value());
  const Stage temperature = stage_of({.temperature = 0.5});
  EXPECT_EQ(temperature.temperature, 0.5);
  EXPECT_FALSE(temperature.threshold.has_value());
  EXPECT_EQ(temperature.mass_removed, 0);
  EXPECT_FALSE(min_p.temperature.has_value());
}

TEST(ExplainTest, DynamicTemperatureSaysWhatItCameTo) {
  // H / ln 4 = .875, and .5 + .875 * 1.
  const Explanation explanation =
      Explain({.temperature = 1, .dynatemp_range = 0.5}, LogitsOf({0.5, 0.25, 0.125, 0.125}));
  EXPECT_NEAR(*explanation.stages[1].temperature, 1.375, 1e-6);
  const Explanation argmax =
      Explain({.temperature = 0, .profile = Profile::kLlamaCpp}, LogitsOf({0.5, 0.3, 0.2}));
  ASSERT_FALSE(argmax.greedy);
  EXPECT_EQ(argmax.stages[1].temperature, 0);
}

TEST(ExplainTest, TheCoinAndWhatItDid) {
  const Row row = LogitsOf({0.4, 0.3, 0.2, 0.1});
  const Explanation off = Explain({.xtc_threshold = 0.15}, row);
  EXPECT_FALSE(off.coin.has_value());
  const Explanation acts = Explain({.xtc_probability = 1, .xtc_threshold = 0.15}, row);
  ASSERT_TRUE(acts.coin.has_value());
  EXPECT_TRUE(acts.coin->acts);
  EXPECT_TRUE(acts.coin->applied);
  EXPECT_EQ(acts.stages[1].threshold, 0.15);
  EXPECT_NEAR(acts.stages[1].mass_removed, 0.7, 1e-7);
  const Explanation nothing = Explain({.xtc_probability = 1, .xtc_threshold = 0.35}, row);
  EXPECT_TRUE(nothing.coin->acts);
  EXPECT_FALSE(nothing.coin->applied);
  int acted = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const Explanation half =
        Explain({.xtc_probability = 0.5, .xtc_threshold = 0.15}, row, {.seed = seed});
    EXPECT_EQ(half.coin->acts, half.coin->u < 0.5);
    EXPECT_EQ(half.stages[1].after, half.coin->acts ? 2 : 4);
    acted += half.coin->acts;
  }
  EXPECT_GT(acted, 60);  // of 200; fewer happen once in 10^8
  EXPECT_LT(acted, 140);
}

TEST(ExplainTest, GreedyRowsHaveNoFilters) {
  const Explanation explanation = Explain({.temperature = 0, .top_p = 0.1}, LogitsOf({0.4, 0.6}));
  EXPECT_TRUE(explanation.greedy);
  EXPECT_EQ(explanation.token_id, 1);
  EXPECT_EQ(explanation.stages.size(), 1u);
}

TEST(ExplainTest, BadRows) {
  EXPECT_EQ(Explain({}, {0, kNan}).error.code, RowErrorCode::kNotFinite);
  EXPECT_EQ(Explain({}, {0, kNan}).error.token, 1);
  EXPECT_EQ(Explain({}, {-kInf, -kInf}).error.code, RowErrorCode::kNoCandidate);
}

// With all tokens followed, the stages and the tokens tell the same story, and it is the sampler's.
TEST(ExplainTest, TellsWhatTheSamplerDoes) {
  for (uint32_t seed = 0; seed < 3000; ++seed) {
    const int32_t vocab_size = 1 + static_cast<int32_t>(seed % 90);
    const RandomCase random = MakeRandomCase(seed, vocab_size);
    SCOPED_TRACE(random.kind + " " + std::to_string(seed));
    Params params = random.params;
    params.return_kept = true;
    RowInput input = random.Input();
    const int32_t sample_index = input.sample_count - 1;
    const RowResult result = Sampler().Sample(params, input);
    const Explanation told = ExplainRow(params, input, sample_index, vocab_size);
    ASSERT_EQ(told.error.code, result.error);
    if (result.error != RowErrorCode::kNone) continue;
    const Draw& draw = result.draws.back();
    ASSERT_EQ(told.token_id, draw.token_id);
    EXPECT_EQ(told.greedy, draw.greedy);
    EXPECT_EQ(told.state.mirostat_mu, draw.state.mirostat_mu);
    EXPECT_EQ(told.coin.has_value() && told.coin->applied, draw.xtc_applied);

    const size_t stages = told.stages.size();
    std::vector<double> removed(stages, 0.0);
    IdList survivors;
    for (const ExplainedToken& token : told.tokens) {
      ASSERT_EQ(token.probabilities.size(), stages + 1);
      if (token.removed_by) {
        const auto by = static_cast<size_t>(*token.removed_by);
        removed[by] += token.probabilities[by];
        EXPECT_EQ(token.probabilities[by + 1], 0);
      } else {
        survivors.push_back(token.id);
      }
    }
    std::ranges::sort(survivors);
    if (!draw.greedy) {
      EXPECT_EQ(survivors, draw.kept_ids);
    }
    for (size_t i = 0; i < stages; ++i) {
      EXPECT_EQ(told.stages[i].before, i == 0 ? told.stages[0].before : told.stages[i - 1].after);
      EXPECT_NEAR(told.stages[i].mass_removed, removed[i], 1e-9);
    }
    if (draw.greedy) continue;
    double best = -kInf;
    int32_t drawn = -1;
    for (const ExplainedToken& token : told.tokens) {
      const double score = std::log(token.probabilities.back()) + token.noise;
      if (token.removed_by || !(score > best)) continue;
      best = score;
      drawn = token.id;
    }
    // Rounding decides among scores that differ by less.
    const double own = std::log(TokenWith(told, draw.token_id).probabilities.back()) +
                       TokenWith(told, draw.token_id).noise;
    EXPECT_TRUE(drawn == draw.token_id || best - own < 1e-9);
  }
}

}  // namespace
}  // namespace tokendraw::sampling
