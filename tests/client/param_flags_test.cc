#include "client/cli/param_flags.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace tokendraw::cli {
namespace {

using google::protobuf::FieldDescriptor;
using ::testing::HasSubstr;
using ::testing::StartsWith;

absl::StatusOr<v1::SamplingParams> Parse(const std::vector<std::string>& words) {
  const auto arguments = ParseArguments(ParamFlags(), words);
  if (!arguments.ok()) return arguments.status();
  return ParamsFromFlags(*arguments);
}

TEST(ParamFlagsTest, EveryFieldHasAFlagAndAHelpLine) {
  const std::vector<Flag> flags = ParamFlags();
  const auto expect_flag = [&](const std::string& name) {
    const auto flag =
        std::find_if(flags.begin(), flags.end(), [&](const Flag& f) { return f.name == name; });
    ASSERT_NE(flag, flags.end()) << name;
    EXPECT_NE(flag->help, "") << name;
    EXPECT_NE(flag->unset, "") << name;
  };
  const auto& params = *v1::SamplingParams::descriptor();
  ASSERT_GT(params.field_count(), 20);
  for (int i = 0; i < params.field_count(); ++i) expect_flag(params.field(i)->name());
  const auto& logprobs = *v1::Logprobs::descriptor();
  for (int i = 1; i < logprobs.field_count(); ++i) expect_flag(logprobs.field(i)->name());
  for (const Flag& flag : RowFlags()) EXPECT_NE(flag.help, "") << flag.name;
}

// Whatever is added to SamplingParams must be settable: each flag changes its own field alone.
TEST(ParamFlagsTest, EveryFlagSetsItsField) {
  const auto& params = *v1::SamplingParams::descriptor();
  for (int i = 0; i < params.field_count(); ++i) {
    const FieldDescriptor& field = *params.field(i);
    std::string value = "1";
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_BOOL) value = "true";
    if (field.enum_type() != nullptr) value = field.enum_type()->value(1)->name();
    if (field.name() == "logit_bias") value = "1:1";
    if (field.name() == "logprobs") value = "raw";
    const auto parsed = Parse({"--" + field.name() + "=" + value});
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    std::vector<const FieldDescriptor*> set;
    parsed->GetReflection()->ListFields(*parsed, &set);
    EXPECT_THAT(set, testing::ElementsAre(&field)) << field.name();
  }
}

struct Case {
  std::vector<std::string> words;
  std::string text;
};

TEST(ParamFlagsTest, Values) {
  const Case cases[] = {
      {{}, ""},
      {{"--typical_p", "0.9"}, "typical_p: 0.9"},
      {{"--temperature=0"}, "temperature: 0"},
      {{"--temperature", "nan"}, "temperature: nan"},
      {{"--penalty_last_n", "-1"}, "penalty_last_n: -1"},
      {{"--p_less"}, "p_less: true"},
      {{"--p_less=false"}, "p_less: false"},
      {{"--repetition_penalty", "1.1"}, "repetition_penalty: 1.1"},
      {{"--xtc_protected_ids", "1,2"}, "xtc_protected_ids: 1 xtc_protected_ids: 2"},
      {{"--xtc_protected_ids", ""}, ""},
      {{"--logit_bias", "5:-100,7:-inf"},
       "logit_bias { id: 5 bias: -100 } logit_bias { id: 7 bias: -inf }"},
      {{"--chain", "typical_p,XTC,FILTER_TEMPERATURE"},
       "chain: FILTER_TYPICAL_P chain: FILTER_XTC chain: FILTER_TEMPERATURE"},
      {{"--frequency_scope", "output"}, "frequency_scope: FREQUENCY_SCOPE_OUTPUT"},
      {{"--logprobs", "processed"}, "logprobs { mode: LOGPROB_MODE_PROCESSED }"},
      {{"--top_count", "5"}, "logprobs { top_count: 5 }"},
      {{"--logprobs=raw", "--token_ids=3,4"},
       "logprobs { mode: LOGPROB_MODE_RAW token_ids: 3 token_ids: 4 }"},
  };
  for (const Case& c : cases) {
    const auto parsed = Parse(c.words);
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    v1::SamplingParams want;
    ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(c.text, &want)) << c.text;
    google::protobuf::util::MessageDifferencer differencer;
    google::protobuf::util::DefaultFieldComparator comparator;
    comparator.set_treat_nan_as_equal(true);
    differencer.set_field_comparator(&comparator);
    EXPECT_TRUE(differencer.Compare(*parsed, want)) << parsed->ShortDebugString();
  }
}

TEST(ParamFlagsTest, ErrorsNameTheFlag) {
  const Case cases[] = {
      {{"--typical_p", "x"}, "\"x\" is not a number"},
      {{"--typical_p", ""}, "is not a number"},
      {{"--typical_p", "0.9 "}, "is not a number"},
      {{"--temperature", "1e999"}, "out of range"},
      {{"--repetition_penalty", "1e39"}, "out of range"},
      {{"--top_k", "1.5"}, "is not an integer"},
      {{"--top_k", "2147483648"}, "out of range"},
      {{"--p_less=yes"}, "neither true nor false"},
      {{"--xtc_protected_ids", "1,,2"}, "is not an integer"},
      {{"--logit_bias", "5"}, "not of the form ID:BIAS"},
      {{"--logit_bias", "5:1:2"}, "not of the form ID:BIAS"},
      {{"--logit_bias", "x:1"}, "is not an integer"},
      {{"--chain", "TOP_Q"}, "none of TOP_N_SIGMA, P_LESS"},
      {{"--chain", "UNSPECIFIED"}, "none of"},
      {{"--logprobs", "yes"}, "none of RAW, PROCESSED"},
  };
  for (const Case& c : cases) {
    const absl::Status status = Parse(c.words).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << c.words[0];
    const std::string flag = c.words[0].substr(0, c.words[0].find('='));
    EXPECT_THAT(std::string(status.message()), StartsWith(flag + ": "));
    EXPECT_THAT(std::string(status.message()), HasSubstr(c.text));
  }
}

TEST(RowFlagsTest, SetTheRow) {
  const auto arguments =
      ParseArguments(RowFlags(), std::vector<std::string>{"--seed", "18446744073709551615",
                                                          "--position=3", "--sample_count=2",
                                                          "--prompt_ids=1,2", "--output_ids=3"});
  ASSERT_TRUE(arguments.ok()) << arguments.status();
  const auto row = RowFromFlags(*arguments);
  ASSERT_TRUE(row.ok()) << row.status();
  EXPECT_EQ(row->ShortDebugString(),
            "seed: 18446744073709551615 position: 3 sample_count: 2 prompt_ids: 1 prompt_ids: 2 "
            "output_ids: 3");
  EXPECT_FALSE(
      RowFromFlags(*ParseArguments(RowFlags(), std::vector<std::string>{"--seed=-1"})).ok());
}

}  // namespace
}  // namespace tokendraw::cli
