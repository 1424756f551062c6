// Faults of other samplers, seen in public issue trackers, that must not be ours: what happens to
// logits before the filters. Each test has the number of its case.
#include "tests/sampling/testing.h"

namespace tokendraw::sampling {
namespace {

// Processed probabilities of a row after `output_ids` (and `prompt_ids`).
std::vector<double> After(const IdList& output_ids, const Params& params, const Row& row,
                          const IdList& prompt_ids = {}) {
  RowInput input = InputOf(row);
  input.history = {.prompt_ids = prompt_ids, .output_ids = output_ids};
  return Probabilities(params, input);
}

// The edited logits, from the differences of log-probabilities; logit `last` is known.
Row EditedLogits(const std::vector<double>& p, float last) {
  Row row;
  for (double value : p) row.push_back(static_cast<float>(std::log(value / p.back())) + last);
  return row;
}

TEST(FieldCases, S04_AbsentRepetitionPenaltyIsOneAndZeroIsAnError) {
  EXPECT_THAT(After({0}, {}, {2, -1, 0.5f}), NearEach({0.7856, 0.0391, 0.1753}));
  const auto broken = BrokenRules({.repetition_penalty = 0});
  ASSERT_EQ(broken.size(), 1u);
  EXPECT_STREQ(broken[0]->name, "repetition_penalty");
}

TEST(FieldCases, S05_RepetitionPenaltyOfNegativeLogitsMultiplies) {
  EXPECT_THAT(After({0, 2}, {.repetition_penalty = 1.5f}, {-2, -1, 1}),
              NearEach({0.0210, 0.1555, 0.8234}));
}

TEST(FieldCases, S07_RepetitionPenaltyIsAppliedOnce) {
  const Params params{.repetition_penalty = 1.5f};
  EXPECT_THAT(After({0}, params, {3, 1.5f}), NearEach({0.6225, 0.3775}));
  const Row row = {3, 1.5f};
  const IdList history = {0};
  RowInput input = InputOf(row);
  input.history.output_ids = history;
  EXPECT_EQ(DrawOf({.temperature = 0, .repetition_penalty = 1.5f}, input).token_id, 0);
  Sampler sampler;  // several rows, several draws
  input.sample_count = 3;
  for (int i = 0; i < 3; ++i) {
    Params greedy = params;
    greedy.temperature = 0;
    for (const Draw& draw : sampler.Sample(greedy, input).draws) EXPECT_EQ(draw.token_id, 0);
  }
}

TEST(FieldCases, S08_FrequencyScopeOutputDoesNotCountThePrompt) {
  Params params{.repetition_penalty = 2, .frequency_penalty = 0.25f, .presence_penalty = 0.5f};
  params.frequency_scope = FrequencyScope::kOutput;
  EXPECT_THAT(After({1, 1}, params, {2, 2, 2}, {0, 0, 0}), NearEach({0.2447, 0.0900, 0.6652}));
  params.frequency_scope = FrequencyScope::kPromptAndOutput;
  EXPECT_THAT(EditedLogits(After({1, 1}, params, {2, 2, 2}, {0, 0, 0}), 2),
              testing::Pointwise(testing::FloatNear(1e-5f), Row{-0.25f, 0, 2}));
}

TEST(FieldCases, S09_FrequencyPenaltyOfOneRowLeavesItsNeighbour) {
  Sampler sampler;
  const Row a = {-2, 1}, b = {2, 2};
  const IdList history = {0, 0};
  Params params{.frequency_penalty = 0.5f, .logprobs = LogprobMode::kProcessed};
  params.logprob_ids = {0, 1};
  RowInput input = InputOf(a);
  input.history.output_ids = history;
  const auto first = sampler.Sample(params, input).draws.at(0).requested_logprobs;
  params.frequency_penalty = 0;
  const auto second = sampler.Sample(params, InputOf(b)).draws.at(0).requested_logprobs;
  EXPECT_NEAR(std::exp(first[0].logprob), 0.0180, 5.1e-5);
  EXPECT_NEAR(std::exp(first[1].logprob), 0.9820, 5.1e-5);
  EXPECT_FLOAT_EQ(second[0].logprob, -0.69314718f);
  EXPECT_FLOAT_EQ(second[1].logprob, -0.69314718f);
}

TEST(FieldCases, S10_FrequencyAndPresenceAreNotSwapped) {
  EXPECT_THAT(After({0, 0, 0, 1}, {.frequency_penalty = 0.1f, .presence_penalty = 0.5f}, {2, 2, 2}),
              NearEach({0.2249, 0.2747, 0.5005}));
  EXPECT_THAT(EditedLogits(After({0, 0, 0, 1}, {.frequency_penalty = 0.5f}, {2, 2, 2}), 2),
              testing::Pointwise(testing::FloatNear(1e-5f), Row{0.5f, 1.5f, 2}));
}

TEST(FieldCases, S12_PenaltiesActOnRawLogits) {
  const Params params{.repetition_penalty = 1.2f};
  EXPECT_THAT(After({1, 2}, params, {0, 1, 2}), NearEach({0.1163, 0.2677, 0.6160}));
  EXPECT_THAT(After({1, 2}, params, {10, 11, 12}), NearEach({0.4107, 0.1785, 0.4107}));
}

TEST(FieldCases, S48_LogitBiasIsAnAdditionAndOnlyMinusInfinityBans) {
  const Params added{.logit_bias = {{0, -100}}}, banned{.logit_bias = {{0, -kInf}}};
  const Params lifted{.logit_bias = {{1, 100}}};
  EXPECT_THAT(Probabilities(added, Row{120, 0}), NearEach({1, 2.0612e-9}, 1e-12));
  EXPECT_THAT(Probabilities(banned, Row{120, 0}), NearEach({0, 1}, 0));
  for (const double temperature : {0.0, 1.0}) {
    const auto token = [&](Params params, const Row& row) {
      params.temperature = temperature;
      return TokenOf(params, row);
    };
    EXPECT_EQ(token(added, {120, 0}), 0);
    EXPECT_EQ(token(banned, {120, 0}), 1);
    EXPECT_EQ(token(lifted, {0, 0}), 1);
  }
}

// What DRY takes from `id`, whose logit is 5 and whose neighbours are at 0.
double DryLoss(const IdList& history, int32_t id, const IdList& breakers = {}) {
  Row row(10, 0.0f);
  row[static_cast<size_t>(id)] = 5;
  const std::vector<double> p =
      After(history, {.dry_multiplier = 0.8f, .dry_breaker_ids = breakers}, row);
  return 5 - std::log(p[static_cast<size_t>(id)] / p[0]);
}

TEST(FieldCases, S69_DryMatchLengthIsNotOffByOne) {
  EXPECT_NEAR(DryLoss({1, 2, 3, 1, 2}, 3), 0.8, 1e-5);
}

TEST(FieldCases, S71_DryBreakerEndsTheMatchAndIsNotPenalised) {
  EXPECT_NEAR(DryLoss({8, 1, 2, 3, 8, 1, 2}, 3), 1.4, 1e-5);
  EXPECT_NEAR(DryLoss({8, 1, 2, 3, 8, 1, 2}, 3, {8}), 0.8, 1e-5);
  EXPECT_NEAR(DryLoss({1, 2, 9, 1, 2}, 9, {9}), 0, 1e-5);
  EXPECT_NEAR(DryLoss({1, 2, 9, 1, 2}, 9), 0.8, 1e-5);
}

}  // namespace
}  // namespace tokendraw::sampling
