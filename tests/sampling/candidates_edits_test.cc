// Bias, bans, penalties and mask on candidates, and on tokens that are not among them.
#include "tests/sampling/candidates_testing.h"
#include "tests/sampling/testing.h"

namespace tokendraw::sampling {
namespace {

std::vector<std::byte> MaskOf(const std::vector<size_t>& allowed) {
  std::vector<std::byte> mask((kVocab + 31) / 32 * 4);
  for (const size_t id : allowed) mask[id / 8] |= std::byte{1} << (id % 8);
  mask.back() = std::byte{0xff};  // past the vocabulary
  return mask;
}

TEST(CandidatesEditsTest, MaskThatAllowsOnlyCandidates) {
  const Row row = SortedRow();
  RowInput input = InputOf(row);
  const std::vector<std::byte> mask = MaskOf({3, 5, 19});
  input.allowed_mask = mask;
  Params params{.logprobs = LogprobMode::kProcessed, .return_kept = true};
  ExpectDecided(params, input, Reduce(row, 20));
  ExpectNeedsRow(params, input, Reduce(row, 19));
  params.logprobs = LogprobMode::kRaw;  // of the row as it came
  ExpectNeedsRow(params, input, Reduce(row, 20));
}

TEST(CandidatesEditsTest, MaskThatAllowsOthers) {
  const Row row = SortedRow();
  RowInput input = InputOf(row);
  std::vector<size_t> allowed;
  for (size_t id = 0; id < kVocab; id += 3) allowed.push_back(id);
  const std::vector<std::byte> mask = MaskOf(allowed);
  input.allowed_mask = mask;
  const Reduced reduced = Reduce(row, 500);
  ExpectDecided({.top_k = 20}, input, reduced);
  ExpectDecided({.min_p = 0.1}, input, reduced);
  ExpectDecided({.top_p = 0.5}, input, reduced);
  ExpectNeedsRow({.typical_p = 0.5}, input, reduced);
  ExpectNeedsRow({.p_less = true}, input, reduced);
  ExpectNeedsRow({.top_n_sigma = 1}, input, reduced);
  // Which of the others are masked is not known: their mass may be nothing. That is too much.
  ExpectNeedsRow({.top_k = 20, .return_kept = true}, input, Reduce(row, 60));
}

TEST(CandidatesEditsTest, NothingOfTheListIsAllowed) {
  const Row row = SortedRow();
  RowInput input = InputOf(row);
  const std::vector<std::byte> mask = MaskOf({100}), nothing = MaskOf({});
  input.allowed_mask = mask;
  ExpectNeedsRow({.temperature = 0}, input, Reduce(row, 20));
  input.allowed_mask = nothing;
  EXPECT_EQ(Sampled({.temperature = 0}, input, Reduce(row, 20)).error, RowErrorCode::kNoCandidate);
}

TEST(CandidatesEditsTest, BiasOfCandidates) {
  const Row row = SortedRow();
  for (const float bias : {-kInf, -2.0f, 0.5f, 4.0f}) {
    SCOPED_TRACE(bias);
    Params params{.logit_bias = {{0, bias}, {7, 1.0f}, {30, bias}}};
    for (const NamedParams& c : Cuts()) {
      SCOPED_TRACE(c.name);
      Params filter = c.params;
      filter.logit_bias = params.logit_bias;
      filter.return_kept = true;
      filter.logprobs = LogprobMode::kRaw;
      const bool needs_row = filter.top_n_sigma != 0;
      Expect(!needs_row, filter, InputOf(row), Reduce(row, 500));
    }
  }
}

TEST(CandidatesEditsTest, BiasOfOthers) {
  const Row row = SortedRow();
  const Reduced reduced = Reduce(row, 300);
  const float floor = row[299];
  // Its bound is that of the floor with the same bias.
  const float room = row[9] - floor;
  Params params{.top_k = 10, .logit_bias = {{400, room * 0.99f}}};
  ExpectDecided(params, InputOf(row), reduced);
  params.logit_bias = {{400, room * 1.01f}};
  ExpectNeedsRow(params, InputOf(row), reduced);

  params = {.top_p = 0.5, .logit_bias = {{400, 0.5f}, {410, -kInf}, {500, -3.0f}}};
  ExpectDecided(params, InputOf(row), reduced);
  params = {.typical_p = 0.8, .logit_bias = {{500, -3.0f}}};
  ExpectNeedsRow(params, InputOf(row), reduced);
  params = {.p_less = true, .logit_bias = {{500, -3.0f}}};
  ExpectNeedsRow(params, InputOf(row), reduced);
}

// Bans take candidates out as a bias of -inf does; of the others they take at most their mass.
TEST(CandidatesEditsTest, Bans) {
  const Row row = SortedRow();
  RowInput input = InputOf(row);
  const IdList history = {0, 7, 400, 0};
  input.history.output_ids = history;
  const Reduced reduced = Reduce(row, 300);
  const Params bans[] = {{.no_repeat_ngram_size = 1},
                         {.no_repeat_ngram_size = 2},
                         {.bad_token_sequences = {{7, 400, 0, 1}, {2}, {450}}},
                         {.min_tokens = 5, .stop_ids = {0, 3, 500}}};
  for (Params params : bans) {
    params.top_p = 0.5;
    EXPECT_GT(KeptIds(params, input).size(), 1u);
    ExpectDecided(params, input, reduced);
    params.temperature = 0;
    ExpectDecided(params, input, reduced);
  }
  ExpectNeedsRow({.typical_p = 0.8, .no_repeat_ngram_size = 1}, input, reduced);
  ExpectDecided({.typical_p = 0.8, .no_repeat_ngram_size = 2}, input, reduced);
  ExpectNeedsRow({.temperature = 0, .bad_token_sequences = {{0}, {1}}}, input, Reduce(row, 2));
}

// Others are not only below a floor that is above the mean, but around it.
TEST(CandidatesEditsTest, TypicalPNeedsAFloorBelowTheMean) {
  const Row row = GaussianRow(kVocab, 0.3, 3);
  const Reduced reduced = Reduce(row, 50);
  const auto down = static_cast<float>(*reduced.summary.mean_logit - reduced.logits[4]);
  const Params params{.typical_p = 1e-4, .logit_bias = {{reduced.ids[4], down}}};
  ExpectNeedsRow(params, InputOf(row), reduced);
  ExpectDecided(params, row, 500);
}

// One of the others is allowed, and has next to nothing of their mass.
TEST(CandidatesEditsTest, MaskBeforeTemperature) {
  const Row row = SortedRow();
  RowInput input = InputOf(row);
  std::vector<size_t> allowed = {kVocab - 1};
  for (size_t id = 0; id < 60; ++id) allowed.push_back(id);
  const std::vector<std::byte> mask = MaskOf(allowed);
  input.allowed_mask = mask;
  for (const double temperature : {0.9, 1.05}) {
    double sum = 0;
    for (const size_t id : allowed) sum += std::exp((row[id] - row[0]) / temperature);
    const double top_p = (1 - 1e-3) / sum;  // keeps token 0 alone, but two if the sum is larger
    const Params params{.temperature = temperature, .top_p = top_p};
    ExpectNeedsRow(params, input, Reduce(row, 60));
    ExpectDecided({.temperature = temperature, .top_p = 0.5 / sum}, input, Reduce(row, 60));
  }
}

// A bias may make a token outside anything up to its bound: here most of the mass, or nothing.
TEST(CandidatesEditsTest, BiasOfOthersBoundsTheMass) {
  const Row row = SortedRow();
  const Reduced reduced = Reduce(row, 30);
  const float lift = row[20] - row[29];
  Params params{.top_p = 0.5};
  for (int32_t id = 30; id < 600; ++id) params.logit_bias.push_back({id, lift});
  ExpectNeedsRow(params, InputOf(row), reduced);
  for (LogitBias& bias : params.logit_bias) bias.bias = -lift;
  params.top_p = 0.88;
  ExpectNeedsRow(params, InputOf(row), reduced);
}

TEST(CandidatesEditsTest, NotFiniteAfterTheEdits) {
  Row row = SortedRow();
  row[0] = 3e38f;
  row[1] = 2.9e38f;
  const Params known{.top_k = 2, .logit_bias = {{1, 3e38f}}};
  const RowResult result = Sampled(known, InputOf(row), Reduce(row, 10));
  EXPECT_EQ(result.error, RowErrorCode::kNotFinite);
  EXPECT_EQ(result.error_token, 1);
  EXPECT_EQ(result.error_field, nullptr);

  // The first offending id may be one outside.
  row[5] = row[6] = 2.8e38f;
  const Reduced reduced = Reduce(row, 3, true);
  ASSERT_EQ(reduced.ids, (IdList{0, 1, 6}));
  Params params{.top_k = 2, .logit_bias = {{5, 3e38f}, {6, 3e38f}}};
  EXPECT_EQ(Sampled(params, InputOf(row), reduced).error, RowErrorCode::kNeedFullRow);
  params.logit_bias = {{1, 3e38f}, {5, 3e38f}};
  EXPECT_EQ(Sampled(params, InputOf(row), reduced).error_token, 1);
}

}  // namespace
}  // namespace tokendraw::sampling
