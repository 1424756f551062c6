#include "sampling/sampler.h"

#include <cstring>
#include <map>

#include "tests/sampling/testing.h"

namespace tokendraw::sampling {
namespace {

void ExpectError(const Params& params, const Row& row, RowErrorCode code, int32_t token) {
  const RowResult result = Sampler().Sample(params, InputOf(row));
  EXPECT_EQ(result.error, code);
  EXPECT_EQ(result.error_token, token);
  EXPECT_TRUE(result.draws.empty());
}

TEST(SamplerTest, NanAndPlusInfinityAreRowErrorsOfTheFirstBadToken) {
  for (const Params& params : {Params{}, Params{.temperature = 0}, Params{.top_k = 1}}) {
    ExpectError(params, {1, kNan, 2}, RowErrorCode::kNotFinite, 1);
    ExpectError(params, {kNan, 1, kInf}, RowErrorCode::kNotFinite, 0);
    ExpectError(params, {1, 2, kInf, kNan}, RowErrorCode::kNotFinite, 2);
    ExpectError(params, {-kInf, -kNan}, RowErrorCode::kNotFinite, 1);
    ExpectError(params, {kInf}, RowErrorCode::kNotFinite, 0);
  }
}

// What the row held is judged before what a mask or a bias would make of it.
TEST(SamplerTest, AMaskDoesNotHideABadToken) {
  ExpectError(Params{.logit_bias = {{0, -kInf}}}, {kInf, 1}, RowErrorCode::kNotFinite, 0);
  const Row row = {1, kNan};
  const std::vector<std::byte> mask = {std::byte{1}, {}, {}, {}};
  RowInput input = InputOf(row);
  input.allowed_mask = mask;
  EXPECT_EQ(Sampler().Sample({}, input).error, RowErrorCode::kNotFinite);
}

TEST(SamplerTest, OverflowInAnEditIsARowError) {
  const Row row = {0, 1, 3e38f, 1e-3f};
  const IdList history = {3, 3};
  RowInput input = InputOf(row);
  input.history.output_ids = history;
  for (const Params& params :
       {Params{.repetition_penalty = 1e-44f}, Params{.frequency_penalty = -3e38f},
        Params{.repetition_penalty = 0.5f, .logit_bias = {{3, 3.4e38f}}}}) {
    const RowResult result = Sampler().Sample(params, input);
    EXPECT_EQ(result.error, RowErrorCode::kNotFinite);
    EXPECT_EQ(result.error_token, 3);
  }
}

TEST(SamplerTest, ARowWithoutCandidatesIsARowError) {
  for (const Params& params : {Params{}, Params{.temperature = 0}, Params{.min_keep = 5}}) {
    ExpectError(params, {-kInf, -kInf, -kInf}, RowErrorCode::kNoCandidate, -1);
    ExpectError(params, {-kInf}, RowErrorCode::kNoCandidate, -1);
  }
}

TEST(SamplerTest, ABadRowLeavesNoTrace) {
  Sampler sampler;
  const Row good = {0, std::log(3.0f)}, bad = {1, kNan, 2}, masked(7, -kInf);
  const Params params{.logprobs = LogprobMode::kProcessed};
  const RowResult before = sampler.Sample(params, InputOf(good));
  sampler.Sample(params, InputOf(bad));
  sampler.Sample(params, InputOf(masked));
  const RowResult after = sampler.Sample(params, InputOf(good));
  ASSERT_EQ(after.draws.size(), 1u);
  EXPECT_EQ(after.error, RowErrorCode::kNone);
  EXPECT_EQ(after.draws[0].token_id, before.draws[0].token_id);
  EXPECT_EQ(after.draws[0].logprob, before.draws[0].logprob);
}

TEST(SamplerTest, GreedyIsTheLowestIdWithTheLargestLogit) {
  const Params greedy{.temperature = 0};
  EXPECT_EQ(TokenOf(greedy, {1, 3, 2, 3}), 1);
  EXPECT_EQ(TokenOf(greedy, {3, 3, 3}), 0);
  EXPECT_EQ(TokenOf(greedy, {-kInf, -5, -4, -4}), 2);
  EXPECT_EQ(TokenOf(greedy, {0, 3e38f, 3.1e38f}), 2);
  EXPECT_EQ(TokenOf(greedy, {-0.0f, 0.0f}), 0);  // equal
}

TEST(SamplerTest, GreedyRunsAfterThePenalties) {
  const Row row = {5, 4, 1};
  const IdList history = {0};
  RowInput input = InputOf(row);
  input.history.output_ids = history;
  EXPECT_EQ(DrawOf({.temperature = 0, .presence_penalty = 0.9f}, input).token_id, 0);
  EXPECT_EQ(DrawOf({.temperature = 0, .presence_penalty = 1.1f}, input).token_id, 1);
}

TEST(SamplerTest, ATokenIsAFunctionOfItsArguments) {
  const Row row = GaussianRow(300, 1, 4);
  const Params params{.temperature = 0.9, .top_p = 0.95};
  std::map<int32_t, int> tokens;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const int32_t token = TokenOf(params, row, {seed, 3});
    EXPECT_EQ(token, TokenOf(params, row, {seed, 3}));
    ++tokens[token];
  }
  EXPECT_GT(tokens.size(), 40u);  // and the seed does matter
}

TEST(SamplerTest, DrawsOfOneRowAreNumbered) {
  const Row row(1000, 0.0f);
  RowInput input = InputOf(row, {.seed = 5});
  input.sample_count = 64;
  const std::vector<Draw> many = DrawsOf({}, input);
  ASSERT_EQ(many.size(), 64u);
  std::map<int32_t, int> tokens;
  for (const Draw& draw : many) ++tokens[draw.token_id];
  EXPECT_GT(tokens.size(), 50u);
  input.sample_count = 3;  // fewer draws are the first ones
  const std::vector<Draw> few = DrawsOf({}, input);
  for (size_t i = 0; i < few.size(); ++i) EXPECT_EQ(few[i].token_id, many[i].token_id);
}

TEST(SamplerTest, FiltersThatDoNotRemoveTheWinnerDoNotChangeTheToken) {
  const Row row = PeakedRow(500, 3);
  int same = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const int32_t token = TokenOf({}, row, {seed});
    const Draw cut = DrawOf({.top_k = 6, .return_kept = true}, InputOf(row, {seed}));
    if (!std::binary_search(cut.kept_ids.begin(), cut.kept_ids.end(), token)) continue;
    EXPECT_EQ(cut.token_id, token);
    ++same;
  }
  EXPECT_GT(same, 50);
  EXPECT_LT(same, 100);
}

// A shard of the vocabulary, the rest of it masked, has the noise of the full row.
TEST(SamplerTest, TokenDoesNotDependOnMaskedNeighbours) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const Row row = GaussianRow(64, 1, static_cast<uint32_t>(seed));
    const int32_t token = TokenOf({}, row, {seed});
    Row shard(64, -kInf);
    for (size_t i = 0; i < 64; ++i) {
      if (i / 16 == static_cast<size_t>(token) / 16) shard[i] = row[i];
    }
    EXPECT_EQ(TokenOf({}, shard, {seed}), token);
  }
}

TEST(SamplerTest, OneNumberInThreeTypesGivesOneToken) {
  const Row row = {1.5f, -2, 0.25f, 3, -kInf, 2.5f};
  const uint16_t f16[] = {0x3e00, 0xc000, 0x3400, 0x4200, 0xfc00, 0x4100};
  uint16_t bf16[6];
  for (size_t i = 0; i < 6; ++i) {
    std::memcpy(&bf16[i], reinterpret_cast<const char*>(&row[i]) + 2, 2);
  }
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const int32_t expected = TokenOf({}, row, {seed});
    for (const LogitsRow& logits :
         {LogitsRow{f16, DataType::kF16, 6}, LogitsRow{bf16, DataType::kBF16, 6}}) {
      EXPECT_EQ(DrawOf({}, {.logits = logits, .key = {seed}}).token_id, expected);
    }
  }
}

TEST(SamplerTest, EmptyChainDrawsFromTheWholeRow) {
  Params params{.temperature = 0.1, .top_k = 2, .top_p = 0.1, .min_p = 0.9, .typical_p = 0.1};
  params.chain.clear();
  EXPECT_EQ(KeptIds(params, Row{1, 2, 3, 4}), FirstIds(4));
  EXPECT_THAT(Probabilities(params, Row{1, 0}), NearEach({0.7311, 0.2689}));
}

TEST(SamplerTest, ChainOrderMatters) {
  const Row row = LogitsOf({0.1, 0.2, 0.3, 0.4});
  Params params{.top_k = 2, .top_p = 0.5};
  params.chain = {Filter::kTopK, Filter::kTopP};
  EXPECT_EQ(KeptIds(params, row), IdList{3});
  params.chain = {Filter::kTopP, Filter::kTopK};
  EXPECT_EQ(KeptIds(params, row), (IdList{2, 3}));
}

// The default order is that of the contract: nudging any pair of neighbours shows.
TEST(SamplerTest, DefaultChain) {
  EXPECT_THAT(
      Params{}.chain,
      testing::ElementsAre(Filter::kTopNSigma, Filter::kPLess, Filter::kPLessNorm,
                           Filter::kTypicalP, Filter::kXtc, Filter::kTemperature,
                           Filter::kSmoothing, Filter::kTopH, Filter::kTopK, Filter::kTopP,
                           Filter::kMinP, Filter::kTopA, Filter::kTfsZ, Filter::kEpsilonCutoff,
                           Filter::kEtaCutoff, Filter::kMirostat, Filter::kAdaptiveP));
}

TEST(SamplerTest, OneTokenVocabulary) {
  const Params params{.temperature = 0.3,
                      .top_k = 2,
                      .top_p = 0.1,
                      .min_p = 1,
                      .typical_p = 0.1,
                      .top_n_sigma = 0.1,
                      .p_less = true,
                      .xtc_probability = 1};
  for (const float x : {-3e38f, -1.0f, 0.0f, 3e38f}) EXPECT_EQ(TokenOf(params, Row{x}), 0);
}

TEST(SamplerTest, MostDrawsOfOneRow) {
  const Row row = {0, 0};
  RowInput input = InputOf(row);
  input.sample_count = kMaxSampleCount;
  const std::vector<Draw> draws = DrawsOf({}, input);
  ASSERT_EQ(draws.size(), 65536u);
  int ones = 0;
  for (const Draw& draw : draws) ones += draw.token_id;
  EXPECT_NEAR(ones, 32768, 768);  // 6 standard deviations
}

}  // namespace
}  // namespace tokendraw::sampling
