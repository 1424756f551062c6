// The command itself: `info`, `validate`, the help, and how calls fail. sample_command_test.cc has
// the rest.
#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/client/fake_server.h"
#include "tests/client/process.h"

namespace tokendraw {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(CommandTest, HelpListsEveryParameter) {
  const Finished help = RunProgram({TOKENDRAW, "sample", "--help"});
  EXPECT_EQ(help.exit_code, 0);
  const auto& params = *v1::SamplingParams::descriptor();
  for (int i = 0; i < params.field_count(); ++i) {
    EXPECT_THAT(help.out, HasSubstr("\n  --" + params.field(i)->name()));
  }
  EXPECT_THAT(help.out, HasSubstr("--typical_p NUMBER  (0.0, 1.0]  (default: 1.0"));
  const Finished overall = RunProgram({TOKENDRAW, "--help"});
  EXPECT_EQ(overall.exit_code, 0);
  for (const char* command : {"sample", "explain", "validate", "info", "health", "load"}) {
    EXPECT_THAT(overall.out, HasSubstr(std::string("tokendraw ") + command));
  }
}

TEST(CommandTest, BadUsageIsTwoAndNamesTheFlag) {
  struct Case {
    std::vector<std::string> words;
    std::string text;
  };
  const Case cases[] = {
      {{}, "Usage"},
      {{"sampel"}, "Usage"},
      {{"sample", "--top_q", "1"}, "unknown flag --top_q"},
      {{"sample", "--top_k"}, "--top_k needs a value"},
      {{"sample", "--top_k", "many"}, "--top_k: "},
      {{"sample", "--seed=-1"}, "--seed: "},
      {{"sample", "--lenient=maybe"}, "--lenient: "},
      {{"sample", "--json=maybe"}, "--json: "},
      {{"sample", "--deadline_ms", "0"}, "--deadline_ms must be"},
      {{"sample", "--server", "nowhere"}, "--server: "},
      {{"sample", "--rows", "1"}, "--rows: "},
      {{"sample", "--vocab", "/nonexistent"}, "/nonexistent: "},
      {{"sample", "/nonexistent"}, "/nonexistent: "},
      {{"sample", "a", "b"}, "what is \"b\"?"},
      {{"sample", "--position", "9223372036854775808"}, "--position: "},
      {{"validate", "file"}, "validate takes flags alone"},
      {{"validate", "--vocab_size", "x"}, "--vocab_size: "},
      {{"health", "name"}, "health takes flags alone"},
      {{"health", "--server", "nowhere"}, "--server: an address must be unix:PATH or HOST:PORT"},
      {{"info", "--top_k=1"}, "unknown flag --top_k"},
  };
  for (const Case& c : cases) {
    std::vector<std::string> words = {TOKENDRAW};
    words.insert(words.end(), c.words.begin(), c.words.end());
    const Finished run = RunProgram(words, "[1, 2]");
    EXPECT_EQ(run.exit_code, 2) << c.text;
    EXPECT_THAT(run.err, HasSubstr(c.text));
    EXPECT_EQ(run.out, "");
  }
}

TEST(CommandTest, Info) {
  FakeService service;
  const FakeServer server(service, "127.0.0.1:0");
  const Finished text = RunProgram({TOKENDRAW, "info", "--server", server.address()});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.out, StartsWith("version            fake\n"));
  EXPECT_THAT(text.out, HasSubstr("\nmax_message_bytes  67108864\n"));
  EXPECT_THAT(text.out, HasSubstr("\nshared_memory      false\n"));
  const Finished json =
      RunProgram({TOKENDRAW, "info", "--json"}, "", {"TOKENDRAW_SERVER=" + server.address()});
  EXPECT_EQ(json.exit_code, 0) << json.err;
  EXPECT_EQ(nlohmann::json::parse(json.out)["max_in_flight"], 2);
}

TEST(CommandTest, Validate) {
  FakeService service;
  const FakeServer server(service, "127.0.0.1:0");
  const Finished good = RunProgram({TOKENDRAW, "validate", "--server", server.address()});
  EXPECT_EQ(good.exit_code, 0) << good.err;
  EXPECT_EQ(good.out, "");
  v1::ParamViolation& violation = *service.violations.add_violations();
  violation.set_field("params[0].top_p");
  violation.set_message("top_p must be in (0.0, 1.0]");
  const Finished bad =
      RunProgram({TOKENDRAW, "validate", "--top_p=2", "--server", server.address()});
  EXPECT_EQ(bad.exit_code, 1) << bad.err;
  EXPECT_EQ(bad.out, "params[0].top_p: top_p must be in (0.0, 1.0]\n");
}

TEST(CommandTest, AFailedCallIsOneWithCodeAndText) {
  const TempDir dir;
  const Finished gone = RunProgram({TOKENDRAW, "info", "--server", dir.Socket("nobody")});
  EXPECT_EQ(gone.exit_code, 1);
  EXPECT_THAT(gone.err, StartsWith("UNAVAILABLE: "));
  const Finished late =
      RunProgram({TOKENDRAW, "info", "--server", dir.Socket("nobody"), "--deadline_ms", "300"});
  EXPECT_EQ(late.exit_code, 1);
  EXPECT_THAT(late.err, StartsWith("DEADLINE_EXCEEDED: "));
}

}  // namespace
}  // namespace tokendraw
