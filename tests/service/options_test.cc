#include "service/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace tokendraw {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

absl::StatusOr<CommandLine> Parse(const std::vector<std::string>& args,
                                  const std::map<std::string, std::string>& environment = {}) {
  return ParseCommandLine(args, [&](const char* name) -> const char* {
    const auto found = environment.find(name);
    return found == environment.end() ? nullptr : found->second.c_str();
  });
}

TEST(OptionsTest, DefaultsBindLoopback) {
  const auto command = Parse({});
  ASSERT_TRUE(command.ok()) << command.status();
  EXPECT_THAT(command->options.listen, ElementsAre("127.0.0.1:50051"));
  EXPECT_EQ(command->options.max_message_bytes, 64 << 20);
}

TEST(OptionsTest, FlagsAndEnvironment) {
  const auto command =
      Parse({"--threads=3", "--listen", "unix:/a", "--listen", "localhost:1,[::1]:2"},
            {{"TOKENDRAW_THREADS", "7"},
             {"TOKENDRAW_MAX_ROWS", "5"},
             {"TOKENDRAW_LISTEN", "127.0.0.1:9"}});
  ASSERT_TRUE(command.ok()) << command.status();
  EXPECT_EQ(command->options.threads, 3) << "a flag wins over the environment";
  EXPECT_EQ(command->options.max_rows, 5);
  EXPECT_THAT(command->options.listen, ElementsAre("unix:/a", "localhost:1", "[::1]:2"));
}

TEST(OptionsTest, SwitchesNeedNoValue) {
  const auto on = Parse({"--allow_insecure", "--listen=0.0.0.0:1", "--channelz=true"});
  ASSERT_TRUE(on.ok()) << on.status();
  EXPECT_TRUE(on->options.allow_insecure);
  EXPECT_TRUE(on->options.channelz);
  EXPECT_FALSE(Parse({"--channelz=false"})->options.channelz);
  EXPECT_TRUE(Parse({}, {{"TOKENDRAW_CHANNELZ", "true"}})->options.channelz);
}

TEST(OptionsTest, WithTlsOthersMayReachIt) {
  EXPECT_TRUE(Parse({"--listen=0.0.0.0:1", "--tls_cert=c", "--tls_key=k"}).ok());
  EXPECT_TRUE(Parse({"--listen=127.0.0.2:1,[::1]:1,localhost:1,unix:/x"}).ok());
}

TEST(OptionsTest, HelpListsEveryFlagWithItsDefaultAndVariable) {
  const auto command = Parse({"--help"});
  ASSERT_TRUE(command.ok() && command->print.has_value());
  EXPECT_THAT(*command->print, HasSubstr("--listen  (default 127.0.0.1:50051)"));
  EXPECT_THAT(*command->print, HasSubstr("--max_queued_bytes  (default 536870912)"));
  EXPECT_THAT(*command->print, HasSubstr("TOKENDRAW_GRACE_MS"));
  EXPECT_THAT(*command->print, HasSubstr("--socket_mode  (default 0600)"));
}

struct BadLine {
  const char* name;
  std::vector<std::string> args;
  const char* text;
};

class BadLineTest : public ::testing::TestWithParam<BadLine> {};

TEST_P(BadLineTest, NamesTheFlag) {
  const absl::Status status = Parse(GetParam().args).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr(GetParam().text));
}

INSTANTIATE_TEST_SUITE_P(
    , BadLineTest,
    ::testing::Values(
        BadLine{"Unknown", {"--treads=3"}, "unknown flag '--treads=3'; see --help"},
        BadLine{"NoValue", {"--threads"}, "--threads needs a value"},
        BadLine{"NotANumber", {"--threads=two"}, "--threads must be a number in [0, 1024]"},
        BadLine{"Trailing", {"--threads=2x"}, "--threads must be a number in [0, 1024], got '2x'"},
        BadLine{"Negative", {"--max_rows=-1"}, "--max_rows must be a number in [1, 1048576]"},
        BadLine{"Overflow",
                {"--max_queued_bytes=99999999999999999999"},
                "--max_queued_bytes must be a number in"},
        BadLine{"Mode", {"--socket_mode=0888"}, "--socket_mode must be an octal number"},
        BadLine{"ModeTooLarge", {"--socket_mode=1777"}, "--socket_mode must be an octal number"},
        BadLine{"NoPort", {"--listen=localhost"}, "'localhost' must be unix:PATH or HOST:PORT"},
        BadLine{"PortTooLarge", {"--listen=localhost:65536"}, "must be unix:PATH or HOST:PORT"},
        BadLine{"NoHost", {"--listen=:80"}, "must be unix:PATH or HOST:PORT"},
        BadLine{"PathTooLong", {"--listen=unix:/" + std::string(107, 'x')}, "1 to 107 bytes"},
        BadLine{"Public",
                {"--listen=0.0.0.0:1"},
                "--listen: other hosts reach 0.0.0.0:1: set --tls_cert and --tls_key, or "
                "--allow_insecure"},
        BadLine{"PublicName", {"--listen=node7:1"}, "--allow_insecure"},
        BadLine{"KeyAlone", {"--tls_key=k"}, "--tls_cert and --tls_key go together"},
        BadLine{"CaAlone", {"--tls_client_ca=c"}, "--tls_client_ca needs --tls_cert"},
        BadLine{
            "Metrics", {"--metrics_listen=unix:/x"}, "--metrics_listen: 'unix:/x' must be HOST"},
        BadLine{"Format", {"--log_format=xml"}, "--log_format must be text or json, got 'xml'"},
        BadLine{"Requests", {"--log_requests=1"}, "--log_requests must be none or failed or all"},
        BadLine{"Switch", {"--channelz=yes"}, "--channelz must be true or false, got 'yes'"},
        BadLine{"QueueBelowMessage",
                {"--max_queued_bytes=1024"},
                "--max_queued_bytes must be >= --max_message_bytes"},
        BadLine{
            "QueueBelowRows", {"--max_queued_rows=1"}, "--max_queued_rows must be >= --max_rows"}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace tokendraw
