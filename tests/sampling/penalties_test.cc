#include "sampling/chain.h"
#include "sampling/edits.h"
#include "tests/sampling/testing.h"

namespace tokendraw::sampling {

// For the test's messages and comparisons.
bool operator==(const TokenCount& a, const TokenCount& b) {
  return a.token_id == b.token_id && a.output_count == b.output_count &&
         a.prompt_count == b.prompt_count;
}

namespace {

std::vector<TokenCount> CountHistory(const History& history, int32_t last_n) {
  EditBuffers buffers;
  buffers.counts = {{9, 9, 9}};  // as an earlier row left them
  buffers.window = {9};
  sampling::CountHistory(history, last_n, buffers);
  return buffers.counts;
}

Row EditedBy(const Params& params, const RowInput& input) {
  EditBuffers buffers;
  FloatRow edited;
  EXPECT_EQ(ReadAndEdit(params, input, buffers, edited), -1);
  return LogitsOf(edited);
}

const IdList kPrompt = {3, 1, 3};
const IdList kOutput = {2, 1, 2, 2};

TEST(PenaltiesTest, CountsTheLastTokensOfPromptAndOutput) {
  const History history{.prompt_ids = kPrompt, .output_ids = kOutput};
  const std::vector<TokenCount> all = {{1, 1, 1}, {2, 3, 0}, {3, 0, 2}};
  EXPECT_EQ(CountHistory(history, -1), all);
  EXPECT_EQ(CountHistory(history, 0), (std::vector<TokenCount>{}));
  EXPECT_EQ(CountHistory(history, 1), (std::vector<TokenCount>{{2, 1, 0}}));
  EXPECT_EQ(CountHistory(history, 3), (std::vector<TokenCount>{{1, 1, 0}, {2, 2, 0}}));
  EXPECT_EQ(CountHistory(history, 4), (std::vector<TokenCount>{{1, 1, 0}, {2, 3, 0}}));
  EXPECT_EQ(CountHistory(history, 5), (std::vector<TokenCount>{{1, 1, 0}, {2, 3, 0}, {3, 0, 1}}));
  EXPECT_EQ(CountHistory(history, 6), (std::vector<TokenCount>{{1, 1, 1}, {2, 3, 0}, {3, 0, 1}}));
  EXPECT_EQ(CountHistory(history, 7), all);
  EXPECT_EQ(CountHistory(history, 1 << 30), all);
  EXPECT_EQ(CountHistory({}, -1), (std::vector<TokenCount>{}));
}

TEST(PenaltiesTest, CountsHaveNoOrder) {
  const std::vector<TokenCount> counts = {{4, 2, 0}, {1, 0, 3}};
  EXPECT_EQ(CountHistory({.token_counts = counts}, -1), counts);
  EXPECT_EQ(CountHistory({.token_counts = counts}, 1), counts);
  EXPECT_EQ(CountHistory({.token_counts = counts}, 0), (std::vector<TokenCount>{}));
}

Row Repeated(Row row, float penalty, const std::vector<TokenCount>& counts, float slope = 1,
             const IdList& newer = {}) {
  return Edited(row, [&](Patches& edited) {
    ApplyRepetitionPenalty(penalty, slope, Repetition::kOncePerToken, counts, newer, edited);
  });
}

TEST(PenaltiesTest, RepetitionDividesAboveZeroAndMultipliesBelow) {
  const Row row = {3, -2, 0, 5, -kInf};
  const std::vector<TokenCount> all = {{0, 1, 0}, {1, 0, 2}, {2, 1, 1}, {4, 1, 0}};
  EXPECT_EQ(Repeated(row, 1.0f, all), row);
  EXPECT_EQ(Repeated(row, 1.5f, all), (Row{2, -3, 0, 5, -kInf}));
  EXPECT_EQ(Repeated(row, 0.5f, all), (Row{6, -1, 0, 5, -kInf}));
  EXPECT_EQ(Repeated(row, 1.5f, {{3, 0, 0}}), row);               // counted zero times
  EXPECT_EQ(Repeated({1}, 3.0f, {{0, 9, 9}}), Row{1.0f / 3.0f});  // once per distinct id
}

TEST(PenaltiesTest, NewerTokensAreThoseOfTheSecondHalf) {
  const History history{.prompt_ids = kPrompt, .output_ids = kOutput};  // 3 1 3 2 1 2 2
  EditBuffers buffers;
  const auto newer = [&](int32_t last_n) {
    buffers.newer = {9};  // as an earlier row left them
    FindNewerTokens(history, last_n, buffers);
    return buffers.newer;
  };
  EXPECT_EQ(newer(-1), (IdList{1, 2, 2, 2}));       // 3 1 3 | 2 1 2 2
  EXPECT_EQ(newer(1 << 30), (IdList{1, 2, 2, 2}));  // the same
  EXPECT_EQ(newer(6), (IdList{1, 2, 2}));           // 1 3 2 | 1 2 2
  EXPECT_EQ(newer(5), (IdList{1, 2, 2}));           // 3 2 | 1 2 2
  EXPECT_EQ(newer(4), (IdList{2, 2}));              // 2 1 | 2 2
  EXPECT_EQ(newer(3), (IdList{2, 2}));              // 1 | 2 2
  EXPECT_EQ(newer(2), IdList{2});                   // 2 | 2
  EXPECT_EQ(newer(1), IdList{2});                   // | 2
  EXPECT_EQ(newer(0), IdList{});
  const std::vector<TokenCount> counts = {{3, 5, 0}};
  FindNewerTokens({.token_counts = counts}, -1, buffers);
  EXPECT_EQ(buffers.newer, IdList{3});
}

TEST(PenaltiesTest, SlopeScalesWhatAnOlderTokenLosesBeyondOne) {
  const Row row = {3, -2, 0, 5, -kInf, 3};
  const std::vector<TokenCount> all = {{0, 1, 0}, {1, 0, 2}, {2, 1, 1}, {4, 1, 0}, {5, 1, 0}};
  const IdList newer = {5};
  EXPECT_EQ(Repeated(row, 2.0f, all, 0.5f, newer), (Row{2, -3, 0, 5, -kInf, 1.5f}));
  EXPECT_EQ(Repeated(row, 2.0f, all, 2.0f, newer), (Row{1, -6, 0, 5, -kInf, 1.5f}));
  EXPECT_EQ(Repeated(row, 2.0f, all, 0.0f, newer), (Row{3, -2, 0, 5, -kInf, 1.5f}));
  EXPECT_EQ(Repeated(row, 0.5f, all, 0.25f, newer), (Row{6, -1, 0, 5, -kInf, 6}));  // r <= 1
  EXPECT_EQ(Repeated({1}, 1.2f, {{0, 1, 0}}, 0.5f, {}), Row{1 / 1.1f});
  // A penalty that overflows leaves 0 where it is.
  EXPECT_EQ(Repeated({0, -kInf}, 3e38f, {{0, 1, 0}, {1, 1, 0}}, 2, {}), (Row{0, -kInf}));
}

TEST(PenaltiesTest, SlopeGoesByTheWindow) {
  const Row row = {2, 2, 2, 2};
  RowInput input = InputOf(row);
  const IdList prompt = {0, 1}, output = {1, 2, 0};
  input.history = {.prompt_ids = prompt, .output_ids = output};
  Params params{.repetition_penalty = 3, .repetition_penalty_slope = 0.5f};
  const float full = 2.0f / 3.0f;
  EXPECT_EQ(EditedBy(params, input), (Row{full, full, full, 2}));  // 0 1 | 1 2 0
  params.penalty_last_n = 4;                                       // 1 1 | 2 0
  EXPECT_EQ(EditedBy(params, input), (Row{full, 1, full, 2}));
  params.penalty_last_n = 3;  // 1 | 2 0
  EXPECT_EQ(EditedBy(params, input), (Row{full, 1, full, 2}));
  params.penalty_last_n = 2;  // 2 | 0
  EXPECT_EQ(EditedBy(params, input), (Row{full, 2, 1, 2}));
  params.penalty_last_n = 1;  // | 0
  EXPECT_EQ(EditedBy(params, input), (Row{full, 2, 2, 2}));
}

// Above 2^24, 1 + (r - 1) is not r.
TEST(PenaltiesTest, SlopeOneIsExactlyOff) {
  const float r = 0x1.000002p+24f;
  const Row row = GaussianRow(3, 2, 1);
  RowInput input = InputOf(row);
  const IdList output = {0, 1, 2, 2};
  input.history.output_ids = output;
  const Row edited = EditedBy({.repetition_penalty = r}, input);
  for (size_t id = 0; id < 3; ++id) {
    EXPECT_EQ(edited[id], row[id] > 0 ? row[id] / r : row[id] * r);
  }
  EXPECT_NE(EditedBy({.repetition_penalty = r, .repetition_penalty_slope = 0.999999f}, input),
            edited);
}

Row Frequent(Row row, float frequency, float presence, FrequencyScope scope,
             const std::vector<TokenCount>& counts) {
  return Edited(row, [&](Patches& edited) {
    ApplyFrequencyAndPresencePenalty(frequency, presence, scope, counts, edited);
  });
}

TEST(PenaltiesTest, FrequencyPerOccurrenceAndPresenceOnce) {
  const auto both = FrequencyScope::kPromptAndOutput;
  const auto output = FrequencyScope::kOutput;
  const std::vector<TokenCount> counts = {{0, 3, 0}, {1, 0, 2}, {2, 0, 0}, {4, 1, 1}};
  const Row row = {8, 8, 8, 8, -kInf};
  EXPECT_EQ(Frequent(row, 0, 0, both, counts), row);
  EXPECT_EQ(Frequent(row, 0.5f, 0, both, counts), (Row{6.5f, 7, 8, 8, -kInf}));
  EXPECT_EQ(Frequent(row, 0, 0.25f, both, counts), (Row{7.75f, 7.75f, 8, 8, -kInf}));
  EXPECT_EQ(Frequent(row, 0.5f, 0.25f, both, counts), (Row{6.25f, 6.75f, 8, 8, -kInf}));
  EXPECT_EQ(Frequent(row, 0.5f, 0.25f, output, counts), (Row{6.25f, 8, 8, 8, -kInf}));
  EXPECT_EQ(Frequent(row, -0.5f, -1, both, counts), (Row{10.5f, 10, 8, 8, -kInf}));
}

TEST(PenaltiesTest, EachOperationRoundsOnce) {
  // 0.1f * 7, then + 0.2f, then the subtraction. Rounded only once, the penalty would be the next
  // float32, 0x1.cccccep-1.
  EXPECT_EQ(Frequent({1.0f}, 0.1f, 0.2f, FrequencyScope::kOutput, {{0, 7, 0}}),
            Row{1.0f - 0x1.ccccccp-1f});
  EXPECT_EQ(Frequent({16777216.0f}, 1.0f, 0, FrequencyScope::kOutput, {{0, 1, 0}}),
            Row{16777215.0f});
  EXPECT_EQ(Frequent({33554432.0f}, 1.0f, 0, FrequencyScope::kOutput, {{0, 1, 0}}),
            Row{33554432.0f});
}

// Bias, mask, repetition, DRY, frequency and presence, in this order.
TEST(PenaltiesTest, RunInOrder) {
  const IdList history = {1, 0, 1};  // 0 would follow 1 again: a repeat of length 1
  const Row row = {1, 2, 3};
  RowInput input = InputOf(row);
  input.history.output_ids = history;
  const Params params{.repetition_penalty = 2,
                      .frequency_penalty = 0.5f,
                      .presence_penalty = 0.25f,
                      .dry_multiplier = 4,
                      .dry_allowed_length = 1,
                      .logit_bias = {{0, 5}, {1, -4}}};
  // id 0: (1 + 5) / 2 - 4 - (0.5 + 0.25); id 1: (2 - 4) * 2 - (1 + 0.25).
  EXPECT_EQ(EditedBy(params, input), (Row{-1.75f, -5.25f, 3}));
}

TEST(PenaltiesTest, LastNIsTheWindowOfAllThree) {
  const Row row = {2, 2, 2};
  RowInput input = InputOf(row);
  const IdList output = {0, 0, 1};
  input.history.output_ids = output;
  Params params{.repetition_penalty = 2, .frequency_penalty = 0.5f, .penalty_last_n = 2};
  EXPECT_EQ(EditedBy(params, input), (Row{0.5f, 0.5f, 2}));
  params.penalty_last_n = 0;
  EXPECT_EQ(EditedBy(params, input), row);
}

TEST(PenaltiesTest, CountsAndTokensGiveTheSame) {
  const Row row = GaussianRow(5, 2, 1);
  const std::vector<TokenCount> counts = {{1, 1, 1}, {2, 3, 0}, {3, 0, 2}};
  for (const auto scope : {FrequencyScope::kOutput, FrequencyScope::kPromptAndOutput}) {
    const Params params{.repetition_penalty = 1.3f,
                        .frequency_penalty = 0.3f,
                        .presence_penalty = 0.2f,
                        .frequency_scope = scope};
    RowInput with_tokens = InputOf(row), with_counts = InputOf(row);
    with_tokens.history = {.prompt_ids = kPrompt, .output_ids = kOutput};
    with_counts.history = {.token_counts = counts};
    const Row penalised = EditedBy(params, with_tokens);
    EXPECT_EQ(penalised, EditedBy(params, with_counts));
    EXPECT_NE(penalised, row);
  }
}

TEST(PenaltiesTest, MaskedTokensStayMasked) {
  const Row row = {-kInf, 1};
  RowInput input = InputOf(row);
  const IdList output = {0, 0, 1, 0};
  input.history.output_ids = output;
  const Params params{
      .repetition_penalty = 0.01f, .frequency_penalty = -1e30f, .presence_penalty = -1e30f};
  EXPECT_EQ(KeptIds(params, input), IdList{1});
}

// A product of penalty and count that overflows takes no masked token back, as NaN or otherwise.
TEST(PenaltiesTest, OverflowLeavesMaskedTokensMasked) {
  const Row row = {-kInf, 1};
  EXPECT_EQ(Frequent(row, -3e38f, 0, FrequencyScope::kOutput, {{0, 2, 0}}), row);
}

}  // namespace
}  // namespace tokendraw::sampling
