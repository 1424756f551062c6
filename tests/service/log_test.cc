#include "service/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "service/status.h"

namespace tokendraw {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

class LogTest : public ::testing::Test {
 protected:
  ~LogTest() override { std::fclose(file_); }

  Log NewLog(const std::string& format, const std::string& requests) {
    Options options;
    options.log_format = format;
    options.log_requests = requests;
    return Log(options, file_);
  }

  std::vector<std::string> Lines() {
    std::rewind(file_);
    std::string text;
    for (int c = std::fgetc(file_); c != EOF; c = std::fgetc(file_)) text += static_cast<char>(c);
    std::vector<std::string> lines = absl::StrSplit(text, '\n', absl::SkipEmpty());
    return lines;
  }

 private:
  std::FILE* const file_ = std::tmpfile();
};

const LoggedRequest kRequest = {.rpc = "SampleTokens", .step = 7, .rows = 2, .bytes = 100};

TEST_F(LogTest, Text) {
  Log log = NewLog("text", "all");
  log.Info("serving on x", {{"version", "1"}, {"threads", int64_t{2}}});
  log.Info("drained");
  EXPECT_THAT(Lines(), testing::ElementsAre("tokendrawd: serving on x (version=1 threads=2)",
                                            "tokendrawd: drained"));
}

TEST_F(LogTest, JsonHasTheTrace) {
  Log log = NewLog("json", "all");
  log.Request(kRequest, absl::OkStatus(), {.trace_id = "abc", .parent_id = "def"});
  ASSERT_THAT(Lines(), SizeIs(1));
  const auto line = nlohmann::json::parse(Lines()[0]);
  EXPECT_EQ(line["level"], "info");
  EXPECT_EQ(line["message"], "request");
  EXPECT_EQ(line["rpc"], "SampleTokens");
  EXPECT_EQ(line["code"], "OK");
  EXPECT_EQ(line["step"], 7);
  EXPECT_EQ(line["rows"], 2);
  EXPECT_EQ(line["bytes"], 100);
  EXPECT_EQ(line["trace_id"], "abc");
  EXPECT_EQ(line["parent_id"], "def");
  EXPECT_THAT(line["time"].get<std::string>(), testing::MatchesRegex("....-..-..T..:..:......Z"));
}

TEST_F(LogTest, AskedForRequestsAlone) {
  const absl::Status failed = absl::UnavailableError("the server is draining");
  Log none = NewLog("text", "none"), some = NewLog("text", "failed");
  none.Request(kRequest, failed, {});
  some.Request(kRequest, absl::OkStatus(), {});
  EXPECT_THAT(Lines(), SizeIs(0));
  some.Request(kRequest, failed, {});
  ASSERT_THAT(Lines(), SizeIs(1));
  EXPECT_THAT(Lines()[0], HasSubstr("code=UNAVAILABLE"));
  EXPECT_THAT(Lines()[0], HasSubstr("error=the server is draining"));
}

TEST_F(LogTest, WrongFieldsAreNamedWithoutTheirValues) {
  Violations violations;
  violations.Add("rows[0].output_ids[3]", "id must be in [0, 5), got 123456");
  violations.Add("params[0].top_p", "top_p must be in (0.0, 1.0]");
  Log log = NewLog("json", "failed");
  log.Request(kRequest, violations.ToStatus(), {});
  ASSERT_THAT(Lines(), SizeIs(1));
  EXPECT_EQ(nlohmann::json::parse(Lines()[0])["fields"], "rows[0].output_ids[3],params[0].top_p");
  EXPECT_THAT(Lines()[0], Not(HasSubstr("123456")));
}

TEST_F(LogTest, AFloodIsCounted) {
  Log log = NewLog("json", "failed");
  for (int i = 0; i < 1000; ++i) log.Request(kRequest, absl::InternalError("x"), {});
  // One second may have passed, on a slow machine a few.
  EXPECT_LE(Lines().size(), 800u);
  EXPECT_GE(Lines().size(), 100u);
}

TEST_F(LogTest, NobodyWritesLinesOfTheirOwn) {
  Log text = NewLog("text", "failed"), json = NewLog("json", "failed");
  for (Log* log : {&text, &json}) log->Request(kRequest, absl::InternalError("a\nb\x1b[2J"), {});
  EXPECT_THAT(Lines(), SizeIs(2));
  EXPECT_THAT(Lines()[0], Not(HasSubstr("\x1b")));
  EXPECT_THAT(Lines()[1], Not(HasSubstr("\x1b")));
}

}  // namespace
}  // namespace tokendraw
