#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "service/convert.h"

namespace tokendraw {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr int32_t kVocabSize = 10;
constexpr float kInf = std::numeric_limits<float>::infinity();

std::vector<std::string> Errors(const v1::SamplingParams& proto,
                                v1::Validation validation = v1::VALIDATION_STRICT) {
  sampling::Params params;
  Violations violations;
  ConvertParams(proto, "params[2]", validation, kVocabSize, params, violations);
  std::vector<std::string> errors;
  for (const Violation& violation : violations.kept()) {
    errors.push_back(violation.field + ": " + violation.message);
  }
  return errors;
}

sampling::Params Converted(const v1::SamplingParams& proto,
                           v1::Validation validation = v1::VALIDATION_STRICT) {
  sampling::Params params;
  Violations violations;
  ConvertParams(proto, "params", validation, kVocabSize, params, violations);
  EXPECT_EQ(violations.count(), 0u) << violations.ToStatus();
  return params;
}

void AddSequence(const std::vector<int32_t>& ids,
                 google::protobuf::RepeatedPtrField<v1::TokenSequence>* sequences) {
  sequences->Add()->mutable_token_ids()->Add(ids.begin(), ids.end());
}

TEST(ConvertParamsTest, AbsentFieldsKeepTheDefaults) {
  const sampling::Params params = Converted({});
  EXPECT_EQ(params.temperature, 1.0);
  EXPECT_EQ(params.typical_p, 1.0);
  EXPECT_EQ(params.repetition_penalty, 1.0f);
  EXPECT_EQ(params.xtc_threshold, 0.1);
  EXPECT_EQ(params.penalty_last_n, -1);
  EXPECT_EQ(params.repetition_penalty_slope, 1.0f);
  EXPECT_EQ(params.no_repeat_ngram_size, 0);
  EXPECT_THAT(params.bad_token_sequences, IsEmpty());
  EXPECT_FALSE(params.p_less_norm);
  EXPECT_FALSE(params.xtc_skip_constrained);
  EXPECT_EQ(params.chain, sampling::Params().chain);
}

// Every scalar gets a value of its own, so that no two can be swapped.
TEST(ConvertParamsTest, EveryFieldArrives) {
  v1::SamplingParams proto;
  proto.set_temperature(0.5);
  proto.set_top_k(7);
  proto.set_top_p(0.25);
  proto.set_min_p(0.125);
  proto.set_typical_p(0.75);
  proto.set_top_n_sigma(1.5);
  proto.set_p_less(true);
  proto.set_xtc_probability(0.375);
  proto.set_xtc_threshold(0.0625);
  proto.add_xtc_protected_ids(3);
  proto.set_repetition_penalty(1.25f);
  proto.set_frequency_penalty(-0.5f);
  proto.set_presence_penalty(0.75f);
  proto.set_penalty_last_n(64);
  proto.set_frequency_scope(v1::FREQUENCY_SCOPE_OUTPUT);
  proto.set_dry_multiplier(0.875f);
  proto.set_dry_base(2.0f);
  proto.set_dry_allowed_length(3);
  proto.set_dry_penalty_last_n(128);
  proto.add_dry_breaker_ids(4);
  v1::LogitBias* bias = proto.add_logit_bias();
  bias->set_id(5);
  bias->set_bias(-kInf);
  proto.set_min_keep(2);
  proto.add_chain(v1::FILTER_XTC);
  proto.add_chain(v1::FILTER_MIN_P);
  proto.mutable_logprobs()->set_mode(v1::LOGPROB_MODE_PROCESSED);
  proto.mutable_logprobs()->set_top_count(9);
  proto.mutable_logprobs()->add_token_ids(6);
  proto.set_return_kept(true);
  proto.set_p_less_norm(true);
  proto.set_xtc_skip_constrained(true);
  proto.set_repetition_penalty_slope(0.625f);
  proto.set_no_repeat_ngram_size(11);
  AddSequence({1, 2}, proto.mutable_bad_token_sequences());
  AddSequence({7}, proto.mutable_bad_token_sequences());
  proto.set_min_tokens(12);
  proto.add_stop_ids(8);
  proto.add_allowed_ids(9);
  proto.add_allowed_ids(9);
  AddSequence({3, 3}, proto.mutable_dry_breaker_sequences());

  const sampling::Params params = Converted(proto);
  EXPECT_EQ(params.temperature, 0.5);
  EXPECT_EQ(params.top_k, 7);
  EXPECT_EQ(params.top_p, 0.25);
  EXPECT_EQ(params.min_p, 0.125);
  EXPECT_EQ(params.typical_p, 0.75);
  EXPECT_EQ(params.top_n_sigma, 1.5);
  EXPECT_TRUE(params.p_less);
  EXPECT_EQ(params.xtc_probability, 0.375);
  EXPECT_EQ(params.xtc_threshold, 0.0625);
  EXPECT_THAT(params.xtc_protected_ids, ElementsAre(3));
  EXPECT_EQ(params.repetition_penalty, 1.25f);
  EXPECT_EQ(params.frequency_penalty, -0.5f);
  EXPECT_EQ(params.presence_penalty, 0.75f);
  EXPECT_EQ(params.penalty_last_n, 64);
  EXPECT_EQ(params.frequency_scope, sampling::FrequencyScope::kOutput);
  EXPECT_EQ(params.dry_multiplier, 0.875f);
  EXPECT_EQ(params.dry_base, 2.0f);
  EXPECT_EQ(params.dry_allowed_length, 3);
  EXPECT_EQ(params.dry_penalty_last_n, 128);
  EXPECT_THAT(params.dry_breaker_ids, ElementsAre(4));
  ASSERT_EQ(params.logit_bias.size(), 1u);
  EXPECT_EQ(params.logit_bias[0].id, 5);
  EXPECT_EQ(params.logit_bias[0].bias, -kInf);
  EXPECT_EQ(params.min_keep, 2);
  EXPECT_THAT(params.chain, ElementsAre(sampling::Filter::kXtc, sampling::Filter::kMinP));
  EXPECT_EQ(params.logprobs, sampling::LogprobMode::kProcessed);
  EXPECT_EQ(params.top_logprobs, 9);
  EXPECT_THAT(params.logprob_ids, ElementsAre(6));
  EXPECT_TRUE(params.return_kept);
  EXPECT_TRUE(params.p_less_norm);
  EXPECT_TRUE(params.xtc_skip_constrained);
  EXPECT_EQ(params.repetition_penalty_slope, 0.625f);
  EXPECT_EQ(params.no_repeat_ngram_size, 11);
  EXPECT_THAT(params.bad_token_sequences, ElementsAre(ElementsAre(1, 2), ElementsAre(7)));
  EXPECT_EQ(params.min_tokens, 12);
  EXPECT_THAT(params.stop_ids, ElementsAre(8));
  EXPECT_THAT(params.allowed_ids, ElementsAre(9, 9));
  EXPECT_THAT(params.dry_breaker_sequences, ElementsAre(ElementsAre(3, 3)));
}

TEST(ConvertParamsTest, EachFilterOfTheChainIsTheOneNamed) {
  v1::SamplingParams proto;
  for (v1::Filter filter :
       {v1::FILTER_MIROSTAT, v1::FILTER_SMOOTHING, v1::FILTER_MIN_P, v1::FILTER_TOP_P,
        v1::FILTER_TOP_K, v1::FILTER_TEMPERATURE, v1::FILTER_XTC, v1::FILTER_TYPICAL_P,
        v1::FILTER_P_LESS, v1::FILTER_TOP_N_SIGMA}) {
    proto.add_chain(filter);
  }
  using sampling::Filter;
  EXPECT_THAT(Converted(proto).chain,
              ElementsAre(Filter::kMirostat, Filter::kSmoothing, Filter::kMinP, Filter::kTopP,
                          Filter::kTopK, Filter::kTemperature, Filter::kXtc, Filter::kTypicalP,
                          Filter::kPLess, Filter::kTopNSigma));
}

TEST(ConvertParamsTest, BreakersAreShort) {
  v1::SamplingParams proto;
  AddSequence(std::vector<int32_t>(64, 3), proto.mutable_dry_breaker_sequences());
  EXPECT_THAT(Errors(proto), ElementsAre());
  AddSequence(std::vector<int32_t>(65, 3), proto.mutable_dry_breaker_sequences());
  EXPECT_THAT(Errors(proto), ElementsAre("params[2].dry_breaker_sequences[1].token_ids: "
                                         "a breaker must have at most 64 tokens"));
}

TEST(ConvertParamsTest, EachProfileStartsFromItsDefaults) {
  v1::SamplingParams proto;
  proto.set_profile(v1::PROFILE_LLAMA_CPP);
  EXPECT_EQ(Converted(proto).profile, sampling::Profile::kLlamaCpp);
  EXPECT_EQ(Converted(proto).top_k, 40);
  proto.set_top_k(0);
  EXPECT_EQ(Converted(proto).top_k, 0);
  EXPECT_EQ(Converted(proto).min_p, 0.05);
  proto.set_profile(v1::PROFILE_VLLM);
  EXPECT_EQ(Converted(proto).frequency_scope, sampling::FrequencyScope::kOutput);
  proto.set_temperature(1e-3);
  EXPECT_EQ(Converted(proto).temperature, 0.01);
  proto.set_profile(v1::PROFILE_TEXTGEN_WEBUI);
  EXPECT_EQ(Converted(proto).profile, sampling::Profile::kTextgenWebui);
  EXPECT_EQ(Converted(proto).temperature, 1e-3);
  proto.set_profile(static_cast<v1::Profile>(8));
  EXPECT_THAT(Errors(proto), ElementsAre("params[2].profile: unknown profile 8"));
}

TEST(ConvertParamsTest, AdaptivePIsTheLast) {
  v1::SamplingParams proto;
  proto.add_chain(v1::FILTER_TOP_K);
  proto.add_chain(v1::FILTER_ADAPTIVE_P);
  EXPECT_THAT(Errors(proto), ElementsAre());
  proto.add_chain(v1::FILTER_TOP_P);
  EXPECT_THAT(Errors(proto), ElementsAre("params[2].chain: FILTER_ADAPTIVE_P must be the last"));
}

TEST(ConvertParamsTest, TheExactTextOfTypicalP) {
  for (double bad : {0.0, -0.5, 1.0001, std::nan(""), double{kInf}}) {
    v1::SamplingParams proto;
    proto.set_typical_p(bad);
    EXPECT_THAT(Errors(proto), ElementsAre("params[2].typical_p: typical_p must be in (0.0, 1.0]"))
        << bad;
  }
}

// Field cases S03, S04b, S15, S27, S35 and S49.
TEST(ConvertParamsTest, ZeroAndNanAreNotAbsent) {
  v1::SamplingParams proto;
  proto.set_temperature(std::nan(""));
  proto.set_top_k(-1);
  proto.set_top_p(0);
  proto.set_min_p(1.5);
  proto.set_xtc_threshold(0);
  proto.set_repetition_penalty(0);
  proto.set_presence_penalty(kInf);
  EXPECT_THAT(
      Errors(proto),
      ElementsAre("params[2].temperature: temperature must be >= 0.0",
                  "params[2].top_k: top_k must be >= 0",
                  "params[2].top_p: top_p must be in (0.0, 1.0]",
                  "params[2].min_p: min_p must be in [0.0, 1.0]",
                  "params[2].xtc_threshold: xtc_threshold must be in (0.0, 1.0]",
                  "params[2].repetition_penalty: repetition_penalty must be finite and > 0.0",
                  "params[2].presence_penalty: presence_penalty must be finite"));
}

TEST(ConvertParamsTest, LenientMapsToOff) {
  v1::SamplingParams proto;
  proto.set_typical_p(0);
  proto.set_temperature(-1);
  proto.set_xtc_probability(1);
  proto.set_xtc_threshold(0);
  proto.set_dry_multiplier(1);
  proto.set_dry_base(0.5);
  proto.mutable_logprobs()->set_top_count(-1);
  v1::LogitBias* bias = proto.add_logit_bias();
  bias->set_bias(kInf);
  const sampling::Params params = Converted(proto, v1::VALIDATION_LENIENT);
  EXPECT_EQ(params.typical_p, 1.0);
  EXPECT_EQ(params.temperature, 1.0);
  EXPECT_EQ(params.xtc_probability, 0.0) << "an impossible threshold turns XTC off";
  EXPECT_EQ(params.dry_multiplier, 0.0f) << "an impossible base turns DRY off";
  EXPECT_EQ(params.top_logprobs, 0);
  EXPECT_THAT(params.logit_bias, IsEmpty());
}

TEST(ConvertParamsTest, RangesOfTheEdits) {
  v1::SamplingParams proto;
  proto.set_repetition_penalty_slope(-0.001f);
  proto.set_no_repeat_ngram_size(-1);
  proto.set_min_tokens(-1);
  EXPECT_THAT(Errors(proto),
              ElementsAre("params[2].repetition_penalty_slope: "
                          "repetition_penalty_slope must be finite and >= 0.0",
                          "params[2].no_repeat_ngram_size: no_repeat_ngram_size must be >= 0",
                          "params[2].min_tokens: min_tokens must be >= 0"));
  const sampling::Params params = Converted(proto, v1::VALIDATION_LENIENT);
  EXPECT_EQ(params.repetition_penalty_slope, 1.0f);
  EXPECT_EQ(params.no_repeat_ngram_size, 0);
  EXPECT_EQ(params.min_tokens, 0);
  proto.set_repetition_penalty_slope(0);
  proto.set_no_repeat_ngram_size(0);
  proto.set_min_tokens(0);
  EXPECT_THAT(Errors(proto), IsEmpty());
}

TEST(ConvertParamsTest, StructuralFaultsAreErrorsEvenWhenLenient) {
  v1::SamplingParams proto;
  proto.add_xtc_protected_ids(kVocabSize);
  proto.add_dry_breaker_ids(-1);
  proto.add_logit_bias()->set_id(kVocabSize);
  proto.add_logit_bias()->set_id(3);
  proto.add_logit_bias()->set_id(3);
  proto.add_chain(v1::FILTER_MIN_P);
  proto.add_chain(v1::FILTER_MIN_P);
  proto.add_chain(v1::FILTER_UNSPECIFIED);
  proto.mutable_logprobs()->add_token_ids(-2);
  AddSequence({0}, proto.mutable_bad_token_sequences());
  AddSequence({}, proto.mutable_bad_token_sequences());
  AddSequence({9, 10}, proto.mutable_bad_token_sequences());
  AddSequence({-1, 3}, proto.mutable_dry_breaker_sequences());
  AddSequence({}, proto.mutable_dry_breaker_sequences());
  proto.add_stop_ids(9);
  proto.add_stop_ids(10);
  proto.add_allowed_ids(0);
  proto.add_allowed_ids(-1);
  EXPECT_THAT(Errors(proto, v1::VALIDATION_LENIENT),
              ElementsAre("params[2].xtc_protected_ids[0]: id must be in [0, 10), got 10",
                          "params[2].dry_breaker_ids[0]: id must be in [0, 10), got -1",
                          "params[2].dry_breaker_sequences[0].token_ids[0]: "
                          "id must be in [0, 10), got -1",
                          "params[2].dry_breaker_sequences[1].token_ids: "
                          "a sequence must have at least one token",
                          "params[2].bad_token_sequences[1].token_ids: "
                          "a sequence must have at least one token",
                          "params[2].bad_token_sequences[2].token_ids[1]: "
                          "id must be in [0, 10), got 10",
                          "params[2].stop_ids[1]: id must be in [0, 10), got 10",
                          "params[2].allowed_ids[1]: id must be in [0, 10), got -1",
                          "params[2].logit_bias[0].id: id must be in [0, 10), got 10",
                          "params[2].logit_bias: id 3 must be named at most once",
                          "params[2].chain[1]: FILTER_MIN_P must be named at most once",
                          "params[2].chain[2]: unknown filter 0",
                          "params[2].logprobs.token_ids[0]: id must be in [0, 10), got -2"));
}

}  // namespace
}  // namespace tokendraw
