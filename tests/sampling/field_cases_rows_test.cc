// Faults of other samplers, seen in public issue trackers, that must not be ours: bad rows and
// values, masks, random numbers, reports. Each test has the number of its case.
#include <array>
#include <cstddef>
#include <string>
#include <thread>

#include "tests/sampling/testing.h"

namespace tokendraw::sampling {
namespace {

std::vector<std::byte> Mask(int bits) { return {static_cast<std::byte>(bits), {}, {}, {}}; }

IdList Tokens(const RowResult& result) {
  IdList tokens;
  for (const Draw& draw : result.draws) tokens.push_back(draw.token_id);
  return tokens;
}

TEST(FieldCases, S03_ValuesThatAreNotFiniteBreakTheirRule) {
  const double nan = kNan, inf = kInf;
  for (const auto& [name, params] : std::vector<std::pair<std::string, Params>>{
           {"temperature", {.temperature = nan}},
           {"temperature", {.temperature = inf}},
           {"top_p", {.top_p = nan}},
           {"min_p", {.min_p = nan}},
           {"presence_penalty", {.presence_penalty = kInf}},
           {"repetition_penalty", {.repetition_penalty = kNan}}}) {
    const auto broken = BrokenRules(params);
    ASSERT_EQ(broken.size(), 1u) << name;
    EXPECT_EQ(broken[0]->name, name);
    EXPECT_THAT(broken[0]->text, testing::StartsWith(name));
  }
  EXPECT_TRUE(BrokenRules({}).empty());
}

TEST(FieldCases, S15_TopPZeroIsAnError) {
  const auto broken = BrokenRules({.top_p = 0});
  ASSERT_EQ(broken.size(), 1u);
  EXPECT_STREQ(broken[0]->text, "top_p must be in (0.0, 1.0]");
}

TEST(FieldCases, S37_ABadRowIsAnErrorOfItsOwn) {
  const Row good = {0, std::log(3.0f)};
  Sampler sampler;
  const std::vector<std::pair<Row, int32_t>> bad = {
      {{1, kNan, 2}, 1}, {{kNan, 1, 2}, 0}, {{1, kInf, 2}, 1}};
  for (const double temperature : {0.0, 1.0}) {
    for (const auto& [row, token] : bad) {
      const RowResult result = sampler.Sample({.temperature = temperature}, InputOf(row));
      EXPECT_EQ(result.error, RowErrorCode::kNotFinite);
      EXPECT_EQ(result.error_token, token);
      EXPECT_TRUE(result.draws.empty());
      const RowResult after = sampler.Sample({.return_kept = true}, InputOf(good));
      EXPECT_EQ(after.error, RowErrorCode::kNone);
      EXPECT_EQ(after.draws.at(0).kept_count, 2);
    }
  }
  EXPECT_THAT(Probabilities({}, good), NearEach({0.25, 0.75}));
}

TEST(FieldCases, S38_NanAmongNegativeLogitsIsFound) {
  const Row row = {-5, kNan, -7};
  EXPECT_EQ(Sampler().Sample({}, InputOf(row)).error, RowErrorCode::kNotFinite);
}

TEST(FieldCases, S40_AllMaskedIsARowError) {
  const Row row = {-kInf, -kInf, -kInf};
  for (const double temperature : {0.0, 1.0}) {
    const RowResult result = Sampler().Sample({.temperature = temperature}, InputOf(row));
    EXPECT_EQ(result.error, RowErrorCode::kNoCandidate);
    EXPECT_TRUE(result.draws.empty());
  }
}

TEST(FieldCases, S41_AMaskOfZeroIsAnErrorOfItsRowAlone) {
  Sampler sampler;
  const Row first = {5, 1}, second = {1, 2};
  const auto none = Mask(0), both = Mask(3);
  RowInput a = InputOf(first), b = InputOf(second);
  a.allowed_mask = none;
  b.allowed_mask = both;
  EXPECT_EQ(sampler.Sample({}, a).error, RowErrorCode::kNoCandidate);
  EXPECT_EQ(sampler.Sample({}, b).error, RowErrorCode::kNone);
  EXPECT_THAT(Probabilities({}, b), NearEach({0.2689, 0.7311}));
}

TEST(FieldCases, S43_AnAbsentMaskIsNotAMaskOfZero) {
  const Row row = {1, 2};
  const auto first_only = Mask(1);
  RowInput a = InputOf(row);
  a.allowed_mask = first_only;
  EXPECT_THAT(Probabilities({}, a), NearEach({1, 0}, 0));
  EXPECT_EQ(DrawOf({}, a).token_id, 0);
  EXPECT_THAT(Probabilities({}, row), NearEach({0.2689, 0.7311}));
}

TEST(FieldCases, S46_ProcessedLogprobsAreThoseUnderTheMask) {
  const Row row = {2, 1, 0};
  const auto mask = Mask(6);
  RowInput input = InputOf(row);
  input.allowed_mask = mask;
  EXPECT_THAT(Probabilities({}, input), NearEach({0, 0.7311, 0.2689}));
}

TEST(FieldCases, S50_MoreTopLogprobsThanTokens) {
  const Params params{.logprobs = LogprobMode::kRaw, .top_logprobs = 50};
  EXPECT_EQ(DrawOf(params, InputOf(Row{0, 1, 2, 3})).top_logprobs.size(), 4u);
}

TEST(FieldCases, S53_ATokenDoesNotDependOnBatchMates) {
  const Row row = {0, 0, 0, 0};
  const int32_t expected = TokenOf({}, row, {.seed = 42});
  Sampler sampler;
  for (uint64_t i = 0; i < 100; ++i) {
    EXPECT_EQ(Tokens(sampler.Sample({}, InputOf(row, {.seed = 42}))), IdList{expected});
    sampler.Sample({}, InputOf(row, {.seed = 1000 + i}));
  }
  for (uint64_t i = 0; i < 8; ++i) {  // as row 7 of 8
    const auto tokens = Tokens(sampler.Sample({}, InputOf(row, {.seed = i == 7 ? 42 : i})));
    EXPECT_TRUE(i < 7 || tokens == IdList{expected});
  }
}

TEST(FieldCases, S55_ConcurrentCallsGiveTheSerialTokens) {
  const Row row = {0, 0, 0, 0};
  RowInput input = InputOf(row, {.seed = 42});
  input.sample_count = 64;
  const IdList serial = Tokens(Sampler().Sample({}, input));
  std::array<IdList, 8> concurrent;
  std::vector<std::thread> threads;
  for (IdList& tokens : concurrent) {
    threads.emplace_back([&] { tokens = Tokens(Sampler().Sample({}, input)); });
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_EQ(serial.size(), 64u);
  EXPECT_THAT(concurrent, testing::Each(serial));
}

TEST(FieldCases, S56_DrawsOfOneRequestAreIndependentAndRepeatable) {
  const Row row = {0, 0, 0, 0};
  RowInput input = InputOf(row, {.seed = 1});
  input.sample_count = 64;
  const IdList tokens = Tokens(Sampler().Sample({}, input));
  std::array<int, 4> counts{};
  for (const int32_t token : tokens) ++counts[static_cast<size_t>(token)];
  // Standard deviation 3.5: five of them.
  for (const int count : counts) EXPECT_NEAR(count, 16, 17.3);
  for (const int count : counts) EXPECT_GT(count, 0);
  EXPECT_EQ(Tokens(Sampler().Sample({}, input)), tokens);
}

Row TopLogprobs(Params params, LogprobMode mode, const Row& row) {
  params.logprobs = mode;
  params.top_logprobs = 3;
  Row values;
  const Draw draw = DrawOf(params, InputOf(row));
  for (const TokenLogprob& entry : draw.top_logprobs) values.push_back(entry.logprob);
  return values;
}

auto NearLogprobs(const Row& expected) {
  return testing::Pointwise(testing::FloatNear(5.1e-5f), expected);
}

TEST(FieldCases, S63_RawAndProcessedLogprobs) {
  const Params params{.temperature = 0.5};
  EXPECT_THAT(TopLogprobs(params, LogprobMode::kRaw, {2, 1, 0}),
              NearLogprobs({-0.4076f, -1.4076f, -2.4076f}));
  EXPECT_THAT(TopLogprobs(params, LogprobMode::kProcessed, {2, 1, 0}),
              NearLogprobs({-0.1429f, -2.1429f, -4.1429f}));
}

TEST(FieldCases, S64_LogprobsOfOneModeNeverMixWithTheOther) {
  const Row row = LogitsOf({0.6, 0.3, 0.1});
  EXPECT_THAT(Probabilities({.top_p = 0.7}, row), NearEach({0.6667, 0.3333, 0}));
  EXPECT_THAT(Probabilities({.top_p = 0.7}, row, LogprobMode::kRaw), NearEach({0.6, 0.3, 0.1}));
}

TEST(FieldCases, S65_AMaskedTokenHasNoLogprob) {
  for (const auto mode : {LogprobMode::kRaw, LogprobMode::kProcessed}) {
    const Params params{.logprobs = mode, .top_logprobs = 2, .logprob_ids = {0, 1}};
    const Draw draw = DrawOf(params, InputOf(Row{0, -kInf}));
    for (const auto& entries : {draw.top_logprobs, draw.requested_logprobs}) {
      ASSERT_EQ(entries.size(), 1u);
      EXPECT_EQ(entries[0].token_id, 0);
      EXPECT_EQ(entries[0].logprob, 0.0f);
    }
  }
}

TEST(FieldCases, S68_EachRowGetsTheLogprobsThatItAskedFor) {
  Sampler sampler;
  const Row first = {2, 1, 0}, second = {0, 0};
  const Params top{.logprobs = LogprobMode::kRaw, .top_logprobs = 2};
  const Params one{.logprobs = LogprobMode::kRaw, .logprob_ids = {1}};
  const Draw a = sampler.Sample(top, InputOf(first)).draws.at(0);
  const Draw b = sampler.Sample(one, InputOf(second)).draws.at(0);
  ASSERT_EQ(a.top_logprobs.size(), 2u);
  EXPECT_TRUE(a.requested_logprobs.empty());
  EXPECT_EQ(a.top_logprobs[0].token_id, 0);
  EXPECT_NEAR(a.top_logprobs[0].logprob, -0.4076, 5.1e-5);
  EXPECT_EQ(a.top_logprobs[1].token_id, 1);
  EXPECT_NEAR(a.top_logprobs[1].logprob, -1.4076, 5.1e-5);
  EXPECT_TRUE(b.top_logprobs.empty());
  ASSERT_EQ(b.requested_logprobs.size(), 1u);
  EXPECT_EQ(b.requested_logprobs[0].token_id, 1);
  EXPECT_NEAR(b.requested_logprobs[0].logprob, -0.6931, 5.1e-5);
}

TEST(FieldCases, S76_MaskAndBiasComeBeforeTruncation) {
  const Row row = {5, 4, 1};
  const auto mask = Mask(4);
  RowInput masked = InputOf(row);
  masked.allowed_mask = mask;
  EXPECT_EQ(DrawOf({.top_k = 2}, masked).token_id, 2);
  EXPECT_EQ(TokenOf({.top_k = 1, .logit_bias = {{2, 100}}}, row), 2);
  EXPECT_EQ(TokenOf({.top_k = 2, .logit_bias = {{0, -kInf}, {1, -kInf}}}, row), 2);
}

}  // namespace
}  // namespace tokendraw::sampling
