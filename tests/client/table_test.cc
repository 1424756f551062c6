#include "client/cli/table.h"

#include <gtest/gtest.h>

#include <clocale>
#include <sstream>
#include <string>

#include "client/cli/vocab.h"
#include "tests/client/fake_server.h"
#include "tests/client/files.h"

namespace tokendraw::cli {
namespace {

class TableTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(std::setlocale(LC_CTYPE, "C.UTF-8"), nullptr); }
};

TEST_F(TableTest, QuoteEscapesWhatATerminalMustNotSee) {
  struct Case {
    std::string text;
    std::string quoted;
  };
  const Case cases[] = {
      {" Paris", "\" Paris\""},
      {"a\nb\tc\rd", "\"a\\nb\\tc\\rd\""},
      {"\"\\", "\"\\\"\\\\\""},
      {"\x1b[31m", "\"\\u{1b}[31m\""},
      {std::string("\0", 1), "\"\\u{0}\""},
      {"\x7f", "\"\\u{7f}\""},
      {"\xc2\x9b", "\"\\u{9b}\""},        // C1 control sequence introducer
      {"\xe2\x80\x8b", "\"\\u{200b}\""},  // zero-width space
      {"\xe2\x81\xa0", "\"\\u{2060}\""},  // word joiner
      {"\xef\xbb\xbf", "\"\\u{feff}\""},  // byte order mark
      {"\xe2\x80\xae", "\"\\u{202e}\""},  // right-to-left override
      {"\xff\xc3", "\"\\xff\\xc3\""},     // no UTF-8; cut short
      {"\xc3\xa9\xe6\x97\xa5", "\"\xc3\xa9\xe6\x97\xa5\""},
  };
  for (const Case& c : cases) EXPECT_EQ(Quote(c.text), c.quoted);
}

TEST_F(TableTest, WidthIsThatOfATerminal) {
  EXPECT_EQ(DisplayWidth("abc"), 3);
  EXPECT_EQ(DisplayWidth("\xc3\xa9"), 1);
  EXPECT_EQ(DisplayWidth("\xe6\x97\xa5"), 2);  // a CJK character
  EXPECT_EQ(DisplayWidth("e\xcc\x81"), 1);     // a combining accent
}

TEST_F(TableTest, ColumnsAreAligned) {
  std::ostringstream out;
  PrintTable({{"row", "text", "n"}, {"0", "\xe6\x97\xa5", "1"}, {"10", "abc", ""}},
             {false, true, true}, out);
  EXPECT_EQ(out.str(), "row  text  n\n  0  \xe6\x97\xa5    1\n 10  abc\n");
}

TEST_F(TableTest, ReadVocab) {
  const TempDir dir;
  const auto vocab = ReadVocab(WriteFile(dir.File("v"), R"(["a", "\n"])"));
  ASSERT_TRUE(vocab.ok()) << vocab.status();
  EXPECT_EQ(*vocab, (std::vector<std::string>{"a", "\n"}));
  for (const char* text : {"", "{}", "[1]", "[\"a\""}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ReadVocab(WriteFile(dir.File("v"), text)).status()))
        << text;
  }
  EXPECT_TRUE(absl::IsNotFound(ReadVocab(dir.File("none")).status()));
}

}  // namespace
}  // namespace tokendraw::cli
