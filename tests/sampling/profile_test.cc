// Each rule on which engines differ, on a row that tells.
#include "sampling/profile.h"

#include "tests/sampling/testing.h"

namespace tokendraw::sampling {
namespace {

using testing::ElementsAre;

constexpr Profile kAll[] = {
    Profile::kDefault, Profile::kLlamaCpp,       Profile::kTransformers, Profile::kVllm,
    Profile::kMlxcel,  Profile::kSharpInference, Profile::kTextgenWebui,
};

// By profile, in the order above.
std::vector<IdList> KeptByProfile(const Params& params, const RowInput& row) {
  std::vector<IdList> kept;
  for (const Profile profile : kAll) {
    Params copy = params;
    copy.profile = profile;
    kept.push_back(KeptIds(copy, row));
  }
  return kept;
}
std::vector<IdList> KeptByProfile(const Params& params, const Row& row) {
  return KeptByProfile(params, InputOf(row));
}

// Every probability is exactly a quarter.
const Row& Quarters() {
  static const Row& kRow = *new Row(4, 1.0f);
  return kRow;
}

TEST(ProfileTest, TypicalP) {
  const IdList below = FirstIds(1), up_to = FirstIds(2), with_equal = FirstIds(4);
  EXPECT_THAT(KeptByProfile({.typical_p = 0.25, .chain = {Filter::kTypicalP}}, Quarters()),
              ElementsAre(below, up_to, with_equal, below, below, below, with_equal));
}

TEST(ProfileTest, TopP) {
  const IdList below = FirstIds(2), up_to = FirstIds(3);
  EXPECT_THAT(KeptByProfile({.top_p = 0.5, .chain = {Filter::kTopP}}, Quarters()),
              ElementsAre(below, below, below, below, up_to, below, below));
}

TEST(ProfileTest, TopK) {
  const Row row = {3, 2, 2, 1};
  const IdList cut = FirstIds(2), stay = FirstIds(3);
  Params params{.top_k = 2, .chain = {Filter::kTopK}};
  EXPECT_THAT(KeptByProfile(params, row), ElementsAre(cut, cut, stay, cut, stay, cut, stay));
  params.logit_bias = {{3, 0.5f}};
  EXPECT_THAT(KeptByProfile(params, row), ElementsAre(cut, cut, stay, cut, stay, stay, stay));
}

TEST(ProfileTest, TopKOnALargeRow) {
  Row row = PeakedRow(kLargeVocab, 5);
  row[100] = row[70000] = row[151000] = 30;
  for (const auto& [profile, expected] : std::vector<std::pair<Profile, IdList>>{
           {Profile::kDefault, {100, 70000}}, {Profile::kTransformers, {100, 70000, 151000}}}) {
    EXPECT_EQ(KeptIds({.top_k = 2, .profile = profile}, row), expected);
  }
}

TEST(ProfileTest, XtcThreshold) {
  const Row halves = {2, 2};
  const IdList acts = FirstIds(1), does_not = FirstIds(2);
  EXPECT_THAT(
      KeptByProfile({.xtc_probability = 1, .xtc_threshold = 0.5, .chain = {Filter::kXtc}}, halves),
      ElementsAre(acts, acts, acts, acts, does_not, acts, acts));
}

TEST(ProfileTest, XtcProtectedTokens) {
  const Row row = LogitsOf({0.4, 0.3, 0.2, 0.1});
  const Params params{.xtc_probability = 1,
                      .xtc_threshold = 0.15,
                      .xtc_protected_ids = {1},
                      .chain = {Filter::kXtc}};
  const IdList stays = {1, 2, 3}, stops_it = FirstIds(4);
  EXPECT_THAT(KeptByProfile(params, row),
              ElementsAre(stays, stays, stays, stays, stays, stays, stops_it));
}

TEST(ProfileTest, MinKeepIsForTheFiltersThatHaveIt) {
  const Row row = {2, 1, 0};
  const auto kept = [&](Profile profile, const Params& params) {
    Params own = params;
    own.profile = profile;
    own.min_keep = 2;
    return KeptIds(own, row).size();
  };
  const Params top_k = {.top_k = 1, .chain = {Filter::kTopK}};
  const Params top_n_sigma = {.top_n_sigma = 0.1, .chain = {Filter::kTopNSigma}};
  const Params top_h = {.top_h = 0.1, .chain = {Filter::kTopH}};
  const Params top_p = {.top_p = 0.1, .chain = {Filter::kTopP}};
  EXPECT_EQ(kept(Profile::kLlamaCpp, top_k), 1u);
  EXPECT_EQ(kept(Profile::kLlamaCpp, top_n_sigma), 1u);
  EXPECT_EQ(kept(Profile::kLlamaCpp, top_p), 2u);
  EXPECT_EQ(kept(Profile::kTransformers, top_h), 1u);
  EXPECT_EQ(kept(Profile::kTransformers, top_k), 2u);
  EXPECT_EQ(kept(Profile::kDefault, top_n_sigma), 2u);
  EXPECT_EQ(kept(Profile::kDefault, top_h), 2u);
}

TEST(ProfileTest, TopNSigma) {
  // Of {4, 1}: 1.5. Of {4, 1, 0}, a sample: 2.0817.
  const Row row = {4, 1, -kInf};
  const IdList one = FirstIds(1), two = FirstIds(2);
  EXPECT_THAT(KeptByProfile({.top_n_sigma = 1.45, .chain = {Filter::kTopNSigma}}, row),
              ElementsAre(one, one, one, one, one, one, two));
  // Tempered by 2, as {2, 0.5, 0}: 1.0408 of 2 and 0.5.
  const Params tempered{.temperature = 2,
                        .top_n_sigma = 1.43,
                        .chain = {Filter::kTemperature, Filter::kTopNSigma},
                        .profile = Profile::kTextgenWebui};
  EXPECT_EQ(KeptIds(tempered, row), one);
  Params more = tempered;
  more.top_n_sigma = 1.45;
  EXPECT_EQ(KeptIds(more, row), two);
}

TEST(ProfileTest, Greedy) {
  const Row row = LogitsOf({0.4, 0.35, 0.25});
  Params params{.temperature = 0,
                .xtc_probability = 1,
                .xtc_threshold = 0.1,
                .chain = {Filter::kXtc, Filter::kTemperature}};
  const IdList all = FirstIds(3), least = {2};
  // Where XTC acts, the least probable of the three is the one that is left.
  EXPECT_THAT(KeptByProfile(params, row), ElementsAre(all, least, all, all, least, all, all));
  params = {.temperature = 1, .top_k = 1, .chain = {}};
  // Greedy by top_k, or a filter that the chain does not name.
  EXPECT_THAT(KeptByProfile(params, row),
              ElementsAre(FirstIds(1), all, all, all, FirstIds(1), all, all));
}

TEST(ProfileTest, WhatAnAbsentParameterIs) {
  const Params& llama = RulesOf(Profile::kLlamaCpp).absent;
  EXPECT_EQ(llama.temperature, 0.8);
  EXPECT_EQ(llama.top_k, 40);
  EXPECT_EQ(llama.top_p, 0.95);
  EXPECT_EQ(llama.min_p, 0.05);
  EXPECT_EQ(llama.penalty_last_n, 64);
  EXPECT_EQ(RulesOf(Profile::kTransformers).absent.top_k, 50);
  EXPECT_EQ(RulesOf(Profile::kVllm).absent.frequency_scope, FrequencyScope::kOutput);
  EXPECT_EQ(RulesOf(Profile::kTextgenWebui).absent.penalty_last_n, 1024);
  for (const Profile profile : kAll) {
    const Params& absent = RulesOf(profile).absent;
    EXPECT_TRUE(BrokenRules(absent).empty());
    EXPECT_EQ(absent.chain.size(), Params().chain.size()) << "a filter is missing";
    EXPECT_EQ(absent.chain.back(), Filter::kAdaptiveP);
  }
}

TEST(ProfileTest, MirostatTakesThePlaceOfTheChain) {
  Params params{.top_k = 3, .mirostat = 2, .repetition_penalty = 1.5f};
  RulesOf(Profile::kLlamaCpp).adjust(false, params);
  EXPECT_THAT(params.chain, ElementsAre(Filter::kTemperature, Filter::kMirostat));
  EXPECT_EQ(params.repetition_penalty, 1);
  params = {.mirostat = 2,
            .chain = {Filter::kTopK, Filter::kMirostat, Filter::kXtc, Filter::kMinP}};
  RulesOf(Profile::kTextgenWebui).adjust(true, params);
  EXPECT_THAT(params.chain, ElementsAre(Filter::kTopK, Filter::kMirostat));
}

TEST(ProfileTest, VllmRaisesSmallTemperaturesAndClampsBiases) {
  const auto adjusted = [](double temperature) {
    Params params{.temperature = temperature, .logit_bias = {{0, -kInf}, {1, 250}, {2, 3}}};
    RulesOf(Profile::kVllm).adjust(false, params);
    EXPECT_EQ(params.logit_bias[0].bias, -100);
    EXPECT_EQ(params.logit_bias[1].bias, 100);
    EXPECT_EQ(params.logit_bias[2].bias, 3);
    return params.temperature;
  };
  EXPECT_EQ(adjusted(0), 0);
  EXPECT_EQ(adjusted(0.99e-5), 0);
  EXPECT_EQ(adjusted(1.01e-5), 0.01);
  EXPECT_EQ(adjusted(0.02), 0.02);
}

}  // namespace
}  // namespace tokendraw::sampling
