#include "client/cli/flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "client/cli/logits_file.h"

namespace tokendraw::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::vector<Flag>& Flags() {
  static const auto* const flags = new std::vector<Flag>{
      {"top_p", "NUMBER", "(0.0, 1.0]", "1.0", "Keeps mass."},
      {"p_less", "", "", "off", "A switch."},
      {"server", "ADDRESS", "", "none", "A server.", true},
  };
  return *flags;
}

TEST(ParseArgumentsTest, TakesValuesInBothForms) {
  const auto arguments = ParseArguments(
      Flags(), std::vector<std::string>{"--server", "a:1", "in.npy", "--p_less", "--top_p=0.5",
                                        "--server=b=2", "-", "--", "--top_p"});
  ASSERT_TRUE(arguments.ok()) << arguments.status();
  EXPECT_EQ(arguments->Get("top_p"), "0.5");
  EXPECT_EQ(arguments->Get("p_less"), "true");
  EXPECT_THAT(arguments->flags.at("server"), ElementsAre("a:1", "b=2"));
  EXPECT_THAT(arguments->positional, ElementsAre("in.npy", "-", "--top_p"));
}

TEST(ParseArgumentsTest, AValueMayBeginWithADash) {
  const auto arguments = ParseArguments(Flags(), std::vector<std::string>{"--top_p", "-1"});
  ASSERT_TRUE(arguments.ok()) << arguments.status();
  EXPECT_EQ(arguments->Get("top_p"), "-1");
}

TEST(ParseArgumentsTest, ErrorsNameTheFlag) {
  struct Case {
    std::vector<std::string> words;
    std::string text;
  };
  const Case cases[] = {
      {{"--topp", "1"}, "unknown flag --topp"},
      {{"--topp=1"}, "unknown flag --topp"},
      {{"-p"}, "unknown flag -p"},
      {{"--=1"}, "unknown flag --"},
      {{"--top_p"}, "--top_p needs a value"},
      {{"--top_p", "1", "--top_p=1"}, "--top_p is given twice"},
      {{"--p_less", "--p_less"}, "--p_less is given twice"},
  };
  for (const Case& c : cases) {
    const absl::Status status = ParseArguments(Flags(), c.words).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << c.text;
    EXPECT_EQ(std::string(status.message()), c.text);
  }
}

TEST(FlagHelpTest, HasAllThatTheTableSays) {
  const std::string help = FlagHelp(Flags());
  EXPECT_THAT(help, HasSubstr("--top_p NUMBER  (0.0, 1.0]  (default: 1.0)\n      Keeps mass.\n"));
  EXPECT_THAT(help, HasSubstr("--p_less  (default: off)\n"));
}

TEST(ParseRowListTest, KeepsTheOrder) {
  const auto rows = ParseRowList("7,0-2,0", 8);
  ASSERT_TRUE(rows.ok()) << rows.status();
  EXPECT_THAT(*rows, ElementsAre(7, 0, 1, 2, 0));
}

TEST(ParseRowListTest, RefusesWhatIsNoRow) {
  for (const char* text :
       {"", "a", "1,", "8", "-1", "3-1", "0-8", "1-", "0x1", "0-99999999999999"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ParseRowList(text, 8).status())) << text;
  }
}

}  // namespace
}  // namespace tokendraw::cli
