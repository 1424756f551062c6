#include "client/client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "tests/client/fake_server.h"

namespace tokendraw {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr milliseconds kLong = std::chrono::minutes(1);

std::string Text(const absl::Status& status) { return std::string(status.message()); }

std::unique_ptr<Client> MakeClient(const ClientOptions& options) {
  auto client = Client::Create(options);
  EXPECT_TRUE(client.ok()) << client.status();
  return *std::move(client);
}

TEST(CreateTest, RefusesOptionsOutsideTheirRange) {
  const ClientOptions good{.addresses = {"unix:x"}};
  EXPECT_TRUE(Client::Create(good).ok());
  struct Case {
    ClientOptions options;
    std::string text;
  };
  const Case cases[] = {
      {{.addresses = {}}, "addresses"},
      {{.addresses = {"localhost"}}, "localhost"},
      {{.addresses = {"unix:x", ""}}, "address"},
      {{.addresses = {"unix:x"}, .deadline = milliseconds(0)}, "deadline"},
      {{.addresses = {"unix:x"}, .deadline = std::chrono::hours(24) + milliseconds(1)}, "deadline"},
  };
  for (const Case& c : cases) {
    const absl::Status status = Client::Create(c.options).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << c.text;
    EXPECT_THAT(Text(status), HasSubstr(c.text));
  }
}

TEST(ClientTest, CallsAServerOnASocketAndOnAPort) {
  const TempDir dir;
  for (const std::string& address : {dir.Socket("s"), std::string("127.0.0.1:0")}) {
    FakeService service;
    v1::ParamViolation& violation = *service.violations.add_violations();
    violation.set_field("params[0].top_p");
    const FakeServer server(service, address);
    const auto client = MakeClient({.addresses = {server.address()}});

    const auto response = client->SampleTokens(SmallRequest(9));
    ASSERT_TRUE(response.ok()) << response.status();
    EXPECT_EQ(response->step(), 9);
    EXPECT_THAT(response->token_ids(), ElementsAre(1));
    const auto info = client->GetServerInfo();
    ASSERT_TRUE(info.ok()) << info.status();
    EXPECT_EQ(info->version(), "fake");
    const auto violations = client->ValidateParams({});
    ASSERT_TRUE(violations.ok()) << violations.status();
    EXPECT_EQ(violations->violations(0).field(), "params[0].top_p");
  }
}

TEST(ClientTest, TriesUnavailableAgain) {
  FakeService service;
  service.answer = [&](const v1::SampleTokensRequest& request, v1::SampleTokensResponse& response) {
    if (service.calls <= 5) return grpc::Status(grpc::StatusCode::UNAVAILABLE, "draining");
    response = FakeAnswer(request);
    return grpc::Status::OK;
  };
  const FakeServer server(service, "127.0.0.1:0");
  const auto client = MakeClient({.addresses = {server.address()}, .deadline = kLong});
  const auto response = client->SampleTokens(SmallRequest(3));
  ASSERT_TRUE(response.ok()) << response.status();
  EXPECT_EQ(response->step(), 3);
  EXPECT_EQ(service.calls, 6);
}

TEST(ClientTest, GivesOtherErrorsBackAtOnce) {
  FakeService service;
  service.answer = [](const v1::SampleTokensRequest&, v1::SampleTokensResponse&) {
    return grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "params[0].top_p: too large");
  };
  const FakeServer server(service, "127.0.0.1:0");
  const auto client = MakeClient({.addresses = {server.address()}});
  const absl::Status status = client->SampleTokens(SmallRequest(0)).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_EQ(Text(status), "params[0].top_p: too large");
  EXPECT_EQ(service.calls, 1);
}

TEST(ClientTest, WithoutWaitForReadyTriesOnce) {
  FakeService service;
  service.answer = [](const v1::SampleTokensRequest&, v1::SampleTokensResponse&) {
    return grpc::Status(grpc::StatusCode::UNAVAILABLE, "draining");
  };
  const FakeServer server(service, "127.0.0.1:0");
  const auto client =
      MakeClient({.addresses = {server.address()}, .deadline = kLong, .wait_for_ready = false});
  const absl::Status status = client->SampleTokens(SmallRequest(0)).status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_EQ(service.calls, 1);
}

TEST(ClientTest, WithoutWaitForReadyDoesNotWaitForAServer) {
  const TempDir dir;
  const auto client = MakeClient({.addresses = {dir.Socket("a"), dir.Socket("b"), dir.Socket("c")},
                                  .deadline = kLong,
                                  .wait_for_ready = false});
  const auto start = std::chrono::steady_clock::now();
  const absl::Status status = client->SampleTokens(SmallRequest(0)).status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_LT(std::chrono::steady_clock::now() - start, kLong / 4);
}

TEST(DeadlineTest, EndsTheWaitForAServer) {
  const TempDir dir;
  const auto client =
      MakeClient({.addresses = {dir.Socket("nobody")}, .deadline = milliseconds(300)});
  const auto start = std::chrono::steady_clock::now();
  const absl::Status status = client->SampleTokens(SmallRequest(0)).status();
  EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
  EXPECT_THAT(Text(status), HasSubstr("nobody"));
  EXPECT_GE(std::chrono::steady_clock::now() - start, milliseconds(300));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

TEST(DeadlineTest, EndsACallThatTheServerKeeps) {
  std::promise<void> release;
  FakeService service;
  service.answer = [&](const v1::SampleTokensRequest&, v1::SampleTokensResponse&) {
    release.get_future().wait();
    return grpc::Status::OK;
  };
  const FakeServer server(service, "127.0.0.1:0");
  const auto client =
      MakeClient({.addresses = {server.address()}, .deadline = std::chrono::seconds(2)});
  const absl::Status status = client->SampleTokens(SmallRequest(0)).status();
  release.set_value();
  EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
  EXPECT_EQ(service.calls, 1);
}

TEST(ClientTest, ManyThreadsMayMakeTheFirstCall) {
  FakeService service;
  const FakeServer server(service, "127.0.0.1:0");
  const auto client = MakeClient({.addresses = {server.address()}});
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      const auto response = client->SampleTokens(SmallRequest(i));
      ASSERT_TRUE(response.ok()) << response.status();
      EXPECT_EQ(response->step(), i);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(service.calls, 8);
}

}  // namespace
}  // namespace tokendraw
