#include "sampling/params.h"

#include <map>
#include <string>

#include "tests/sampling/testing.h"

namespace tokendraw::sampling {
namespace {

// What the table must say, written a second time: nearest values inside and outside the range, the
// error, and the field that lenient validation sets to what.
struct Expectation {
  std::string text;
  std::vector<double> inside;
  std::vector<double> outside;
  const char* off_name;
  double off_value;
};

constexpr double kTiny = 0x1p-1074;      // least positive double
constexpr double kTinyFloat = 0x1p-149;  // least positive float
constexpr double kMaxFloat = 0x1.fffffep127;
constexpr double kAboveOne = 1 + 0x1p-52;
constexpr double kMaxInt = 2147483647;

const std::map<std::string, Expectation>& Expectations() {
  static const std::map<std::string, Expectation> kTable = {
      {"temperature",
       {"temperature must be >= 0.0", {0, kTiny, 1, 1e308}, {-kTiny, -1}, "temperature", 1}},
      {"top_k", {"top_k must be >= 0", {0, 1, kMaxInt}, {-1, -2147483648.0}, "top_k", 0}},
      {"top_p", {"top_p must be in (0.0, 1.0]", {kTiny, 1}, {0, -kTiny, kAboveOne}, "top_p", 1}},
      {"min_p", {"min_p must be in [0.0, 1.0]", {0, 1}, {-kTiny, kAboveOne, 1.5}, "min_p", 0}},
      {"typical_p",
       {"typical_p must be in (0.0, 1.0]", {kTiny, 1}, {0, kAboveOne}, "typical_p", 1}},
      {"top_n_sigma",
       {"top_n_sigma must be >= 0.0", {0, kTiny, 1e308}, {-kTiny, -1}, "top_n_sigma", 0}},
      {"xtc_probability",
       {"xtc_probability must be in [0.0, 1.0]",
        {0, 1},
        {-kTiny, kAboveOne},
        "xtc_probability",
        0}},
      {"xtc_threshold",
       {"xtc_threshold must be in (0.0, 1.0]", {kTiny, 1}, {0, kAboveOne}, "xtc_probability", 0}},
      {"repetition_penalty",
       {"repetition_penalty must be finite and > 0.0",
        {kTinyFloat, kMaxFloat},
        {0, -1},
        "repetition_penalty",
        1}},
      {"frequency_penalty",
       {"frequency_penalty must be finite",
        {-kMaxFloat, 0, kMaxFloat},
        {},
        "frequency_penalty",
        0}},
      {"presence_penalty",
       {"presence_penalty must be finite", {-kMaxFloat, 0, kMaxFloat}, {}, "presence_penalty", 0}},
      {"penalty_last_n",
       {"penalty_last_n must be >= -1", {-1, 0, kMaxInt}, {-2}, "penalty_last_n", -1}},
      {"min_keep", {"min_keep must be >= 0", {0, 1, kMaxInt}, {-1}, "min_keep", 1}},
      {"dry_multiplier",
       {"dry_multiplier must be finite and >= 0.0",
        {0, kMaxFloat},
        {-kTinyFloat, -1},
        "dry_multiplier",
        0}},
      {"dry_base",
       {"dry_base must be finite and >= 1.0",
        {1, kMaxFloat},
        {1 - 0x1p-24, 0},
        "dry_multiplier",
        0}},
      {"dry_allowed_length",
       {"dry_allowed_length must be >= 1", {1, kMaxInt}, {0, -1}, "dry_multiplier", 0}},
      {"dry_penalty_last_n",
       {"dry_penalty_last_n must be >= -1", {-1, 0, kMaxInt}, {-2}, "dry_penalty_last_n", -1}},
      {"dynatemp_range",
       {"dynatemp_range must be finite and >= 0.0", {0, 1e308}, {-kTiny}, "dynatemp_range", 0}},
      {"dynatemp_exponent",
       {"dynatemp_exponent must be finite and > 0.0", {kTiny, 1e308}, {0}, "dynatemp_range", 0}},
      {"smoothing_factor",
       {"smoothing_factor must be finite and >= 0.0", {0, 1e308}, {-kTiny}, "smoothing_factor", 0}},
      {"smoothing_curve",
       {"smoothing_curve must be in [1.0, 3.0]",
        {1, 3},
        {1 - 0x1p-53, 3 + 0x1p-51},
        "smoothing_factor",
        0}},
      {"top_a", {"top_a must be in [0.0, 1.0]", {0, 1}, {-kTiny, kAboveOne}, "top_a", 0}},
      {"tfs_z", {"tfs_z must be in [0.0, 1.0]", {0, 1}, {-kTiny, kAboveOne}, "tfs_z", 1}},
      {"epsilon_cutoff",
       {"epsilon_cutoff must be in [0.0, 1.0)",
        {0, kTiny, 1 - 0x1p-53},
        {-kTiny, 1},
        "epsilon_cutoff",
        0}},
      {"eta_cutoff",
       {"eta_cutoff must be in [0.0, 1.0)", {0, kTiny, 1 - 0x1p-53}, {-kTiny, 1}, "eta_cutoff", 0}},
      {"top_h", {"top_h must be in [0.0, 1.0]", {0, 1}, {-kTiny, kAboveOne}, "top_h", 0}},
      {"mirostat", {"mirostat must be in [0, 2]", {0, 1, 2}, {-1, 3}, "mirostat", 0}},
      {"mirostat_tau",
       {"mirostat_tau must be finite and >= 0.0", {0, 1e308}, {-kTiny}, "mirostat", 0}},
      {"mirostat_eta",
       {"mirostat_eta must be finite and >= 0.0", {0, 1e308}, {-kTiny}, "mirostat", 0}},
      {"adaptive_target",
       {"adaptive_target must be -1.0 or in [0.0, 1.0]",
        {-1, 0, 1},
        {-kTiny, -0.5, -2, kAboveOne},
        "adaptive_target",
        -1}},
      {"adaptive_decay",
       {"adaptive_decay must be in [0.0, 0.99]",
        {0, 0.99},
        {-kTiny, 0.991},
        "adaptive_target",
        -1}},
      {"repetition_penalty_slope",
       {"repetition_penalty_slope must be finite and >= 0.0",
        {0, 1, kMaxFloat},
        {-kTinyFloat},
        "repetition_penalty_slope",
        1}},
      {"no_repeat_ngram_size",
       {"no_repeat_ngram_size must be >= 0", {0, kMaxInt}, {-1}, "no_repeat_ngram_size", 0}},
      {"min_tokens", {"min_tokens must be >= 0", {0, kMaxInt}, {-1}, "min_tokens", 0}},
  };
  return kTable;
}

bool IsInteger(const ParamRule& rule) {
  return std::holds_alternative<int32_t Params::*>(rule.field);
}

const ParamRule& RuleOf(const std::string& name) {
  for (const ParamRule& rule : ParamRules()) {
    if (rule.name == name) return rule;
  }
  ADD_FAILURE() << "no rule " << name;
  return ParamRules()[0];
}

// Parameters that break no rule, with everything on.
Params AllOn() {
  return {.temperature = 0.5,
          .xtc_probability = 0.5,
          .repetition_penalty = 1.5f,
          .dry_multiplier = 1.0f,
          .min_keep = 3};
}

TEST(ParamsTest, EveryScalarHasARule) {
  std::vector<std::string> names, expected;
  for (const ParamRule& rule : ParamRules()) names.push_back(rule.name);
  for (const auto& [name, expectation] : Expectations()) expected.push_back(name);
  EXPECT_THAT(names, testing::UnorderedElementsAreArray(expected));
}

TEST(ParamsTest, DefaultsBreakNoRuleAndAreOff) {
  const Params params;
  EXPECT_TRUE(BrokenRules(params).empty());
  for (const ParamRule& rule : ParamRules()) {
    EXPECT_EQ(GetField(params, rule.off_field), rule.off_value) << rule.name;
  }
  EXPECT_EQ(params.xtc_threshold, 0.1);
  EXPECT_EQ(params.dry_base, 1.75f);
  EXPECT_EQ(params.dry_allowed_length, 2);
  EXPECT_EQ(params.chain.size(), 17u);
  const Row row = GaussianRow(50, 2, 1);
  EXPECT_EQ(KeptIds(params, row), FirstIds(50));
}

TEST(ParamsTest, BothEdgesOfEveryRange) {
  for (const auto& [name, expectation] : Expectations()) {
    SCOPED_TRACE(name);
    const ParamRule& rule = RuleOf(name);
    EXPECT_EQ(rule.text, expectation.text);
    for (const double value : expectation.inside) {
      Params params;
      SetField(rule.field, value, params);
      ASSERT_EQ(GetField(params, rule.field), value);
      EXPECT_TRUE(BrokenRules(params).empty()) << value;
    }
    std::vector<double> outside = expectation.outside;
    if (!IsInteger(rule)) outside.insert(outside.end(), {kNan, -kNan, kInf, -kInf});
    for (const double value : outside) {
      Params params;
      SetField(rule.field, value, params);
      const auto broken = BrokenRules(params);
      ASSERT_EQ(broken.size(), 1u) << value;
      EXPECT_EQ(broken[0], &rule);
    }
  }
}

TEST(ParamsTest, LenientTurnsOffTheOneThatIsOutside) {
  for (const auto& [name, expectation] : Expectations()) {
    SCOPED_TRACE(name);
    const ParamRule& rule = RuleOf(name);
    std::vector<double> outside = expectation.outside;
    if (!IsInteger(rule)) outside.insert(outside.end(), {kNan, kInf, -kInf});
    for (const double value : outside) {
      Params params = AllOn();
      SetField(rule.field, value, params);
      TurnOffBrokenRules(params);
      const ParamRule& off = RuleOf(expectation.off_name);
      EXPECT_EQ(GetField(params, off.field), expectation.off_value);
      for (const ParamRule& other : ParamRules()) {  // and nothing else
        if (other.name == name || &other == &off) continue;
        EXPECT_EQ(GetField(params, other.field), GetField(AllOn(), other.field)) << other.name;
      }
    }
  }
}

TEST(ParamsTest, LenientLeavesGoodValues) {
  Params params = AllOn();
  TurnOffBrokenRules(params);
  for (const ParamRule& rule : ParamRules()) {
    EXPECT_EQ(GetField(params, rule.field), GetField(AllOn(), rule.field)) << rule.name;
  }
}

TEST(ParamsTest, AllBrokenRulesAreListedInTableOrder) {
  Params params;
  for (const ParamRule& rule : ParamRules()) {
    SetField(rule.field, IsInteger(rule) ? -5.0 : double{kNan}, params);
  }
  const auto broken = BrokenRules(params);
  ASSERT_EQ(broken.size(), ParamRules().size());
  for (size_t i = 0; i < broken.size(); ++i) EXPECT_EQ(broken[i], &ParamRules()[i]);
  TurnOffBrokenRules(params);
  EXPECT_EQ(KeptIds(params, Row{1, 2, 3}), FirstIds(3));
  EXPECT_FALSE(IsGreedy(params));
}

TEST(ParamsTest, GreedyAndDetail) {
  EXPECT_FALSE(IsGreedy({}));
  EXPECT_TRUE(IsGreedy({.temperature = 0}));
  EXPECT_FALSE(IsGreedy({.temperature = 1e-300}));
  EXPECT_TRUE(IsGreedy({.top_k = 1}));
  EXPECT_FALSE(IsGreedy({.top_k = 2}));
  EXPECT_FALSE(Params{}.WantsDetail());
  EXPECT_TRUE(Params{.return_kept = true}.WantsDetail());
  EXPECT_TRUE(Params{.logprobs = LogprobMode::kRaw}.WantsDetail());
}

}  // namespace
}  // namespace tokendraw::sampling
