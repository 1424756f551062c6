#include <gtest/gtest.h>
#include <stdlib.h>

#include <chrono>
#include <memory>
#include <ostream>
#include <string>

#include "client/client.h"
#include "tests/client/fake_server.h"
#include "tests/client/process.h"

namespace tokendraw {
namespace {

constexpr std::chrono::milliseconds kLong = std::chrono::minutes(1);

// gRPC's own look at its sockets, every 5 s, would hide a client that never looks. 0 is never.
const int kNoBackupPolls = setenv("GRPC_CLIENT_CHANNEL_BACKUP_POLL_INTERVAL_MS", "0", 1);

std::unique_ptr<SampleStream> OpenStream(const ClientOptions& options) {
  auto client = Client::Create(options);
  EXPECT_TRUE(client.ok()) << client.status();
  return (*client)->OpenStream();
}

void ExpectStep(const absl::StatusOr<v1::SampleTokensResponse>& response, int step) {
  ASSERT_TRUE(response.ok()) << response.status();
  EXPECT_EQ(response->step(), step);
  EXPECT_EQ(response->token_ids_size(), 1);
}

TEST(StreamRestartTest, AKilledServerLosesNothing) {
  const TempDir dir;
  const std::string address = dir.Socket("s");
  Process first({FAKE_SERVER, address, "5"});
  ASSERT_EQ(first.ReadLine(), "ready");
  const auto stream = OpenStream({.addresses = {address}, .deadline = kLong});
  for (int step = 0; step < 5; ++step) ExpectStep(stream->Step(SmallRequest(step)), step);
  ASSERT_TRUE(stream->Write(SmallRequest(5)).ok());
  ASSERT_TRUE(stream->Write(SmallRequest(6)).ok());
  ASSERT_EQ(first.ReadLine(), "stuck");
  first.Kill();
  Process second({FAKE_SERVER, address});
  ASSERT_EQ(second.ReadLine(), "ready");
  ExpectStep(stream->Read(), 5);
  ExpectStep(stream->Read(), 6);
  for (int step = 7; step < 12; ++step) ExpectStep(stream->Step(SmallRequest(step)), step);
  EXPECT_TRUE(stream->Finish().ok());
}

TEST(StreamRestartTest, WithoutWaitForReadyAGoneServerIsUnavailable) {
  const TempDir dir;
  const std::string address = dir.Socket("s");
  Process server({FAKE_SERVER, address});
  ASSERT_EQ(server.ReadLine(), "ready");
  const auto stream =
      OpenStream({.addresses = {address}, .deadline = kLong, .wait_for_ready = false});
  ExpectStep(stream->Step(SmallRequest(0)), 0);
  server.Kill();
  const auto start = std::chrono::steady_clock::now();
  const absl::Status status = stream->Step(SmallRequest(1)).status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_LT(std::chrono::steady_clock::now() - start, kLong / 4);
  EXPECT_EQ(stream->in_flight(), 0u);
  EXPECT_TRUE(stream->Finish().ok());
}

TEST(StreamRestartTest, WithoutWaitForReadyAServerThatIsBackIsFound) {
  const TempDir dir;
  const std::string address = dir.Socket("s");
  Process first({FAKE_SERVER, address});
  ASSERT_EQ(first.ReadLine(), "ready");
  const auto stream =
      OpenStream({.addresses = {address}, .deadline = kLong, .wait_for_ready = false});
  ExpectStep(stream->Step(SmallRequest(0)), 0);
  first.Kill();
  EXPECT_TRUE(absl::IsUnavailable(stream->Step(SmallRequest(1)).status()));
  Process second({FAKE_SERVER, address});
  ASSERT_EQ(second.ReadLine(), "ready");
  const auto start = std::chrono::steady_clock::now();
  while (!stream->Step(SmallRequest(2)).ok()) {
    ASSERT_LT(std::chrono::steady_clock::now() - start, kLong / 2);
  }
}

struct EndCase {
  const char* name;
  int messages;  // after which each stream ends
  grpc::Status end;
};

// The name alone, so that ctest's names stay the same.
void PrintTo(const EndCase& c, std::ostream* out) { *out << c.name; }

class StreamEndTest : public testing::TestWithParam<EndCase> {};

// Every stream ends after a few messages, with another one on its way.
TEST_P(StreamEndTest, LosesNothing) {
  FakeService service;
  service.stream_messages = GetParam().messages;
  service.stream_end = GetParam().end;
  const FakeServer server(service, "127.0.0.1:0");
  // Each stream is opened anew at the first attempt.
  const auto stream =
      OpenStream({.addresses = {server.address()}, .deadline = kLong, .wait_for_ready = false});
  ASSERT_TRUE(stream->Write(SmallRequest(0)).ok());
  for (int step = 0; step < 20; ++step) {
    ASSERT_TRUE(stream->Write(SmallRequest(step + 1)).ok());
    ExpectStep(stream->Read(), step);
  }
  ExpectStep(stream->Read(), 20);
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_GE(service.streams, 20 / GetParam().messages);
}

INSTANTIATE_TEST_SUITE_P(
    All, StreamEndTest,
    testing::Values(EndCase{"DrainedAfterOne", 1, {grpc::StatusCode::UNAVAILABLE, "draining"}},
                    EndCase{"DrainedAfterThree", 3, {grpc::StatusCode::UNAVAILABLE, "draining"}},
                    EndCase{"EndedAfterTwo", 2, grpc::Status::OK}),
    [](const auto& info) { return info.param.name; });

TEST(StreamRestartTest, ARefusalToServeInBandGoesToTheNextServer) {
  FakeService draining;
  draining.answer = [](const v1::SampleTokensRequest& request, v1::SampleTokensResponse& response) {
    response.set_step(request.step());
    response.mutable_error()->set_code(grpc::StatusCode::UNAVAILABLE);
    return grpc::Status::OK;
  };
  FakeService serving;
  const FakeServer a(draining, "127.0.0.1:0");
  const FakeServer b(serving, "127.0.0.1:0");
  const auto stream = OpenStream({.addresses = {a.address(), b.address()}, .deadline = kLong});
  ASSERT_TRUE(stream->Write(SmallRequest(0)).ok());
  ASSERT_TRUE(stream->Write(SmallRequest(1)).ok());
  ExpectStep(stream->Read(), 0);
  ExpectStep(stream->Read(), 1);
  EXPECT_EQ(draining.streams, 1);
}

}  // namespace
}  // namespace tokendraw
