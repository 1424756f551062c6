#include <limits>

#include "sampling/edits.h"
#include "tests/sampling/testing.h"

namespace tokendraw::sampling {
namespace {

Row Penalised(const Params& params, const History& history, const Row& row) {
  EditBuffers buffers;
  FindDryPenalties(params, history, buffers);
  return Edited(row, [&](Patches& edited) { ApplyDry(buffers.dry_penalties, edited); });
}

// What DRY takes from each of ten tokens at logit 0.
Row Loss(const Params& params, const IdList& prompt_ids, const IdList& output_ids = {}) {
  Row row(10, 0.0f);
  const History history{.prompt_ids = prompt_ids, .output_ids = output_ids};
  row = Penalised(params, history, row);
  for (float& x : row) x = 0.0f - x;
  return row;
}

Row Only(size_t id, float loss) {
  Row row(10, 0.0f);
  row[id] = loss;
  return row;
}

const Row kNone(10, 0.0f);

Params Dry(int32_t allowed_length = 2) {
  return {.dry_multiplier = 0.75f, .dry_base = 2, .dry_allowed_length = allowed_length};
}

TEST(DryTest, GrowsWithTheLengthOfTheRepeat) {
  EXPECT_EQ(Loss(Dry(), {2, 3, 2}), kNone);  // length 1: below the allowed
  EXPECT_EQ(Loss(Dry(), {1, 2, 3, 1, 2}), Only(3, 0.75f));
  EXPECT_EQ(Loss(Dry(), {0, 1, 2, 3, 0, 1, 2}), Only(3, 1.5f));
  EXPECT_EQ(Loss(Dry(), {9, 0, 1, 2, 3, 9, 0, 1, 2}), Only(3, 3.0f));
  EXPECT_EQ(Loss(Dry(), {8, 0, 1, 2, 3, 9, 0, 1, 2}), Only(3, 1.5f));  // 8 is not 9
  EXPECT_EQ(Loss(Dry(1), {2, 3, 2}), Only(3, 0.75f));
  EXPECT_EQ(Loss(Dry(3), {1, 2, 3, 1, 2}), kNone);
  EXPECT_EQ(Loss(Dry(3), {0, 1, 2, 3, 0, 1, 2}), Only(3, 0.75f));
}

TEST(DryTest, TheLongestMatchOfATokenCounts) {
  EXPECT_EQ(Loss(Dry(), {0, 1, 2, 3, 4, 1, 2, 3, 0, 1, 2}), Only(3, 1.5f));
  EXPECT_EQ(Loss(Dry(), {4, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2}), Only(3, 12.0f));  // length 6
}

TEST(DryTest, SeveralTokensCanExtendTheRepeat) {
  Row expected = Only(3, 0.75f);
  expected[4] = 1.5f;
  EXPECT_EQ(Loss(Dry(), {1, 2, 3, 5, 1, 2, 4, 5, 1, 2}), expected);
}

TEST(DryTest, RunsOverlap) {
  // All the same: the newest match has length 3.
  EXPECT_EQ(Loss(Dry(), {6, 6, 6, 6}), Only(6, 1.5f));
  EXPECT_EQ(Loss(Dry(), {6, 6}), kNone);
  EXPECT_EQ(Loss(Dry(1), {6, 6}), Only(6, 0.75f));
}

TEST(DryTest, ShortHistoriesHaveNoRepeat) {
  EXPECT_EQ(Loss(Dry(1), {}), kNone);
  EXPECT_EQ(Loss(Dry(1), {5}), kNone);
  EXPECT_EQ(Loss(Dry(1), {5, 6}), kNone);
}

TEST(DryTest, OutputFollowsPrompt) {
  EXPECT_EQ(Loss(Dry(), {1, 2, 3}, {1, 2}), Only(3, 0.75f));
  EXPECT_EQ(Loss(Dry(), {1, 2}, {1, 2, 3}), kNone);
}

TEST(DryTest, Window) {
  const IdList history = {0, 1, 2, 3, 0, 1, 2};
  Params params = Dry();
  for (const auto& [last_n, loss] : std::vector<std::pair<int32_t, float>>{
           {-1, 1.5f}, {0, 0}, {1, 0}, {5, 0}, {6, 0.75f}, {7, 1.5f}, {8, 1.5f}, {1 << 30, 1.5f}}) {
    SCOPED_TRACE(last_n);
    params.dry_penalty_last_n = last_n;
    EXPECT_EQ(Loss(params, history), Only(3, loss));
  }
}

TEST(DryTest, BreakersEndAMatchAndAreNeverPenalised) {
  Params params = Dry();
  params.dry_breaker_ids = {9, 8};
  EXPECT_EQ(Loss(params, {8, 1, 2, 3, 8, 1, 2}), Only(3, 0.75f));  // cut to length 2
  EXPECT_EQ(Loss(params, {1, 8, 2, 3, 1, 8, 2}), kNone);           // cut to length 1
  EXPECT_EQ(Loss(params, {1, 2, 9, 1, 2}), kNone);                 // 9 itself
  EXPECT_EQ(Loss(params, {1, 2, 8, 3, 1, 2, 8}), kNone);           // ends with a breaker
  EXPECT_EQ(Loss(params, {1, 2, 3, 9, 1, 2}), Only(3, 0.75f));     // outside the match
}

// The rules of llama.cpp.
TEST(DryTest, BreakersMayBeSequences) {
  Params params{.dry_multiplier = 1, .dry_base = 2, .dry_allowed_length = 1};
  const auto loss = [&](const std::vector<TokenSequence>& breakers, const IdList& history) {
    params.dry_breaker_sequences = breakers;
    return Loss(params, history);
  };
  const IdList history = {1, 2, 3, 4, 1, 2, 3};
  EXPECT_EQ(loss({}, history), Only(4, 4));
  EXPECT_EQ(loss({{2}}, history), Only(4, 1));     // the 3 after it
  EXPECT_EQ(loss({{2, 3}}, history), kNone);       // nothing after it
  EXPECT_EQ(loss({{1, 2}}, history), Only(4, 1));  // the 3 after it
  EXPECT_EQ(loss({{1}}, history), Only(4, 2));
  EXPECT_EQ(loss({{4}}, history), kNone);             // a single breaker itself
  EXPECT_EQ(loss({{4, 6}}, history), Only(4, 4));     // it only begins one
  EXPECT_EQ(loss({{3, 4}}, history), Only(4, 4));     // the 1 2 3 after it
  EXPECT_EQ(loss({{3, 4, 1}}, history), Only(4, 2));  // the 2 3 after it
  EXPECT_EQ(loss({{2, 4}, {3, 1}}, history), Only(4, 4));
  EXPECT_EQ(loss({{3, 4}}, {1, 2, 3, 4, 5, 1, 2, 3, 4, 5}), Only(1, 1));
  EXPECT_EQ(loss({}, {1, 2, 3, 3, 2, 3, 7, 1, 2, 3}), (Row{0, 0, 1, 4, 0, 0, 0, 2, 0, 0}));
}

TEST(DryTest, TheLongestBreakerThatBeginsLastCounts) {
  Params params{.dry_multiplier = 1, .dry_base = 2, .dry_allowed_length = 1};
  const auto loss = [&](const std::vector<TokenSequence>& breakers) {
    params.dry_breaker_sequences = breakers;
    return Loss(params, {1, 2, 3, 4, 5, 9, 1, 2, 3, 4, 5})[9];
  };
  EXPECT_EQ(loss({}), 16);
  EXPECT_EQ(loss({{2}}), 4);
  EXPECT_EQ(loss({{2}, {2, 3}}), 2);
  EXPECT_EQ(loss({{2, 3, 4}, {2}, {2, 3}}), 1);
  EXPECT_EQ(loss({{2, 3, 5}, {2}}), 4);
  EXPECT_EQ(loss({{2, 3, 4, 5, 6}, {2, 3}}), 2);  // the first would end in the future
  EXPECT_EQ(loss({{2, 3, 4}, {3}}), 2);           // 3 begins later, though it ends earlier
  EXPECT_EQ(loss({{1, 2, 3, 4}, {2}}), 4);
  EXPECT_EQ(loss({{2, 3, 4, 5}}), 0);
  params.dry_breaker_ids = {3};
  EXPECT_EQ(loss({{2, 3, 4}}), 2);
  EXPECT_EQ(loss({{3, 4}}), 1);
}

TEST(DryTest, ABreakerLiesInTheWindowAsAWhole) {
  Params params{.dry_multiplier = 1, .dry_base = 2, .dry_allowed_length = 1};
  params.dry_breaker_sequences = {{7, 6, 6}};
  const IdList history = {7, 6, 6, 6};  // the newest 6 alone is after it
  EXPECT_EQ(Loss(params, history)[6], 1);
  params.dry_penalty_last_n = 3;
  EXPECT_EQ(Loss(params, history)[6], 2);
}

TEST(DryTest, SingleBreakersMayBeGivenEitherWay) {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    IdList history(30);
    for (int32_t& id : history) id = static_cast<int32_t>(random() % 4);
    Params ids = Dry(1), sequences = Dry(1);
    ids.dry_breaker_ids = {3, 2};
    sequences.dry_breaker_sequences = {{2}, {3}, {2}};
    ASSERT_EQ(Loss(ids, history), Loss(sequences, history)) << seed;
  }
}

TEST(DryTest, OffAndCountsChangeNothing) {
  Params params = Dry();
  params.dry_multiplier = 0;
  EXPECT_EQ(Loss(params, {1, 2, 3, 1, 2}), kNone);
  const std::vector<TokenCount> counts = {{3, 5, 0}};
  EXPECT_EQ(Penalised(Dry(1), {.token_counts = counts}, kNone), kNone);
}

TEST(DryTest, TheExponentIsCappedSoThatThePenaltyIsFinite) {
  const float largest = std::numeric_limits<float>::max();
  Params params = Dry(1);
  params.dry_multiplier = 1;
  const IdList history(1000, 4);
  EXPECT_EQ(Loss(params, history), Only(4, 0x1p127f));
  params.dry_base = 1e30f;
  EXPECT_EQ(Loss(params, history), Only(4, 1e30f));
  params.dry_base = 1;
  EXPECT_EQ(Loss(params, history), Only(4, 1));
  params.dry_base = 2;
  params.dry_multiplier = largest;
  EXPECT_EQ(Loss(params, history), Only(4, largest));
}

TEST(DryTest, RoundsToFloat32Once) {
  const Params params{.dry_multiplier = 0.8f, .dry_base = 1.75f, .dry_allowed_length = 2};
  EXPECT_EQ(Loss(params, {0, 1, 2, 3, 0, 1, 2})[3], static_cast<float>(double{0.8f} * 1.75));
  EXPECT_EQ(Penalised(params, {}, Row(10, 5.0f)), Row(10, 5.0f));
}

// Quadratic time would take 10^12 steps here.
TEST(DryTest, TakesLinearTime) {
  const IdList history(1 << 20, 7);
  EXPECT_EQ(Loss(Dry(), history), Only(7, 0x1.8p127f));
}

TEST(DryTest, ChangesLargeRow) {
  const Row row = PeakedRow(kLargeVocab, 5);
  const Params greedy{.temperature = 0};
  const int32_t best = TokenOf(greedy, row);
  const IdList history = {1, 2, best, 1, 2};
  RowInput input = InputOf(row);
  input.history.output_ids = history;
  Params params = greedy;
  params.dry_multiplier = 50;
  EXPECT_EQ(DrawOf(greedy, input).token_id, best);
  EXPECT_NE(DrawOf(params, input).token_id, best);
}

}  // namespace
}  // namespace tokendraw::sampling
