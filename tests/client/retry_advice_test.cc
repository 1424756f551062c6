// RESOURCE_EXHAUSTED with and without the server's advice when to come back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>

#include "client/client.h"
#include "tests/client/fake_server.h"

namespace tokendraw {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr milliseconds kLong = std::chrono::minutes(1);
constexpr int kAdviceMs = 50;

class RetryAdviceTest : public testing::TestWithParam<bool> {
 protected:
  // Refuses the first `refusals` messages: in band on a stream.
  void Refuse(int refusals, int advice_ms) {
    service_.retry_after_ms = advice_ms;
    service_.answer = [=, this](const v1::SampleTokensRequest& request,
                                v1::SampleTokensResponse& response) {
      response = FakeAnswer(request);
      if (++answered_ > refusals) return grpc::Status::OK;
      if (!Streamed()) return grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, "full");
      response.mutable_error()->set_code(grpc::StatusCode::RESOURCE_EXHAUSTED);
      response.mutable_error()->set_message("full");
      response.mutable_error()->set_retry_after_ms(advice_ms);
      return grpc::Status::OK;
    };
  }

  absl::StatusOr<v1::SampleTokensResponse> Sample(milliseconds deadline, bool wait_for_ready) {
    client_ = *Client::Create(
        {.addresses = {server_.address()}, .deadline = deadline, .wait_for_ready = wait_for_ready});
    stream_ = client_->OpenStream();
    return Streamed() ? stream_->Step(SmallRequest(7)) : client_->SampleTokens(SmallRequest(7));
  }

  static bool Streamed() { return GetParam(); }

  FakeService service_;
  std::atomic<int> answered_ = 0;
  const FakeServer server_{service_, "127.0.0.1:0"};
  std::unique_ptr<Client> client_;
  std::unique_ptr<SampleStream> stream_;
};

TEST_P(RetryAdviceTest, IsTakenUntilThereIsRoom) {
  Refuse(3, kAdviceMs);
  const auto start = Clock::now();
  const auto response = Sample(kLong, true);
  ASSERT_TRUE(response.ok()) << response.status();
  EXPECT_EQ(response->step(), 7);
  EXPECT_EQ(answered_, 4);
  EXPECT_GE(Clock::now() - start, milliseconds(3 * kAdviceMs));
}

TEST_P(RetryAdviceTest, WithoutItTheErrorIsFinal) {
  Refuse(1, 0);
  const absl::Status status = Sample(kLong, true).status();
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_EQ(std::string(status.message()), "full");
  EXPECT_EQ(answered_, 1);
}

TEST_P(RetryAdviceTest, WithoutWaitForReadyTheErrorIsFinal) {
  Refuse(1, kAdviceMs);
  EXPECT_TRUE(absl::IsResourceExhausted(Sample(kLong, false).status()));
  EXPECT_EQ(answered_, 1);
}

TEST_P(RetryAdviceTest, BeyondTheDeadlineTheErrorIsFinalAtOnce) {
  Refuse(1, static_cast<int>(kLong.count()));
  const auto start = Clock::now();
  EXPECT_TRUE(absl::IsResourceExhausted(Sample(kLong, true).status()));
  EXPECT_EQ(answered_, 1);
  EXPECT_LT(Clock::now() - start, kLong / 4);
}

INSTANTIATE_TEST_SUITE_P(All, RetryAdviceTest, testing::Bool(),
                         [](const auto& info) { return info.param ? "Stream" : "Unary"; });

// The message behind the refused one is answered after it, and both once.
TEST(StreamRetryAdviceTest, KeepsTheOrder) {
  FakeService service;
  std::atomic<int> refused = 0;
  service.answer = [&](const v1::SampleTokensRequest& request, v1::SampleTokensResponse& response) {
    response = FakeAnswer(request);
    if (request.step() == 0 && refused++ < 2) {
      response.mutable_error()->set_code(grpc::StatusCode::RESOURCE_EXHAUSTED);
      response.mutable_error()->set_retry_after_ms(1);
    }
    return grpc::Status::OK;
  };
  const FakeServer server(service, "127.0.0.1:0");
  const auto stream = (*Client::Create({.addresses = {server.address()}}))->OpenStream();
  ASSERT_TRUE(stream->Write(SmallRequest(0)).ok());
  ASSERT_TRUE(stream->Write(SmallRequest(1)).ok());
  for (const int step : {0, 1}) {
    const auto response = stream->Read();
    ASSERT_TRUE(response.ok()) << response.status();
    EXPECT_EQ(response->step(), step);
  }
  EXPECT_EQ(stream->in_flight(), 0u);
}

// A refusal that is final is that of its message alone.
TEST(StreamRetryAdviceTest, AFinalRefusalLeavesTheStream) {
  FakeService service;
  service.answer = [](const v1::SampleTokensRequest& request, v1::SampleTokensResponse& response) {
    response = FakeAnswer(request);
    if (request.step() == 0) {
      response.mutable_error()->set_code(grpc::StatusCode::RESOURCE_EXHAUSTED);
      response.mutable_error()->set_retry_after_ms(24 * 60 * 60 * 1000);
    }
    return grpc::Status::OK;
  };
  const FakeServer server(service, "127.0.0.1:0");
  const auto stream = (*Client::Create({.addresses = {server.address()}}))->OpenStream();
  ASSERT_TRUE(stream->Write(SmallRequest(0)).ok());
  ASSERT_TRUE(stream->Write(SmallRequest(1)).ok());
  EXPECT_TRUE(absl::IsResourceExhausted(stream->Read().status()));
  EXPECT_EQ(stream->Read()->step(), 1);
  EXPECT_EQ(service.streams, 1);
}

}  // namespace
}  // namespace tokendraw
