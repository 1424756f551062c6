#include "client/stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <string>

#include "client/client.h"
#include "tests/client/fake_server.h"

namespace tokendraw {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::unique_ptr<SampleStream> OpenStream(const ClientOptions& options) {
  auto client = Client::Create(options);
  EXPECT_TRUE(client.ok()) << client.status();
  return (*client)->OpenStream();
}

// Answers the message of step `step` with an error in band.
void RefuseStep(std::int64_t step, grpc::StatusCode code, FakeService& service) {
  service.answer = [=](const v1::SampleTokensRequest& request, v1::SampleTokensResponse& response) {
    response = FakeAnswer(request);
    if (request.step() == step) {
      response.mutable_error()->set_code(code);
      response.mutable_error()->set_message("refused");
    }
    return grpc::Status::OK;
  };
}

TEST(SampleStreamTest, StepsInOrderOnOneStream) {
  FakeService service;
  const FakeServer server(service, "127.0.0.1:0");
  const auto stream = OpenStream({.addresses = {server.address()}});
  for (int step = 0; step < 20; ++step) {
    const auto response = stream->Step(SmallRequest(step));
    ASSERT_TRUE(response.ok()) << response.status();
    EXPECT_EQ(response->step(), step);
    EXPECT_THAT(response->token_ids(), ElementsAre(1));
  }
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_EQ(service.streams, 1);
}

TEST(SampleStreamTest, TakesAsManyMessagesAsTheServer) {
  FakeService service;
  service.info.set_max_in_flight(3);
  const FakeServer server(service, "127.0.0.1:0");
  const auto stream = OpenStream({.addresses = {server.address()}});
  for (int step = 0; step < 3; ++step) EXPECT_TRUE(stream->Write(SmallRequest(step)).ok());
  const absl::Status fourth = stream->Write(SmallRequest(3));
  EXPECT_TRUE(absl::IsFailedPrecondition(fourth)) << fourth;
  EXPECT_THAT(std::string(fourth.message()), HasSubstr("takes 3 messages"));
  EXPECT_TRUE(absl::IsFailedPrecondition(stream->Step(SmallRequest(3)).status()));
  for (int step = 0; step < 10; ++step) {
    EXPECT_EQ(stream->in_flight(), 3u);
    const auto response = stream->Read();
    ASSERT_TRUE(response.ok()) << response.status();
    EXPECT_EQ(response->step(), step);
    EXPECT_TRUE(stream->Write(SmallRequest(step + 3)).ok());
  }
}

TEST(SampleStreamTest, AnErrorInBandIsThatMessagesAlone) {
  FakeService service;
  RefuseStep(1, grpc::StatusCode::INVALID_ARGUMENT, service);
  const FakeServer server(service, "127.0.0.1:0");
  const auto stream = OpenStream({.addresses = {server.address()}});
  ASSERT_TRUE(stream->Write(SmallRequest(0)).ok());
  ASSERT_TRUE(stream->Write(SmallRequest(1)).ok());
  EXPECT_TRUE(stream->Read().ok());
  ASSERT_TRUE(stream->Write(SmallRequest(2)).ok());
  const absl::Status status = stream->Read().status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_EQ(std::string(status.message()), "refused");
  EXPECT_EQ(stream->in_flight(), 1u);
  const auto last = stream->Read();
  ASSERT_TRUE(last.ok()) << last.status();
  EXPECT_EQ(last->step(), 2);
  EXPECT_TRUE(stream->Step(SmallRequest(3)).ok());
  EXPECT_EQ(service.streams, 1);
}

TEST(SampleStreamTest, ReadWithoutAMessageIsRefused) {
  const auto stream = OpenStream({.addresses = {"unix:nobody"}});
  EXPECT_TRUE(absl::IsFailedPrecondition(stream->Read().status()));
  EXPECT_TRUE(stream->Finish().ok());
}

TEST(SampleStreamTest, FinishGivesUpWhatIsUnanswered) {
  FakeService service;
  const FakeServer server(service, "127.0.0.1:0");
  const auto stream = OpenStream({.addresses = {server.address()}});
  ASSERT_TRUE(stream->Write(SmallRequest(0)).ok());
  EXPECT_TRUE(absl::IsCancelled(stream->Finish()));
  EXPECT_EQ(stream->in_flight(), 0u);
  const auto next = stream->Step(SmallRequest(1));
  ASSERT_TRUE(next.ok()) << next.status();
  EXPECT_EQ(next->step(), 1);
}

TEST(SampleStreamTest, TheDeadlineEndsAStepAndTheNextOneIsFresh) {
  std::promise<void> release;
  const std::shared_future<void> released = release.get_future().share();
  FakeService service;
  service.answer = [=](const v1::SampleTokensRequest& request, v1::SampleTokensResponse& response) {
    if (request.step() == 1) released.wait();
    response = FakeAnswer(request);
    return grpc::Status::OK;
  };
  const FakeServer server(service, "127.0.0.1:0");
  const auto stream =
      OpenStream({.addresses = {server.address()}, .deadline = std::chrono::seconds(2)});
  EXPECT_TRUE(stream->Step(SmallRequest(0)).ok());
  const absl::Status status = stream->Step(SmallRequest(1)).status();
  EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
  EXPECT_EQ(stream->in_flight(), 0u);
  const auto next = stream->Step(SmallRequest(2));
  release.set_value();
  ASSERT_TRUE(next.ok()) << next.status();
  EXPECT_EQ(next->step(), 2);
}

TEST(SampleStreamTest, AnErrorThatEndsTheStreamIsGivenBack) {
  FakeService service;
  service.answer = [](const v1::SampleTokensRequest& request, v1::SampleTokensResponse& response) {
    response = FakeAnswer(request);
    return request.step() == 1 ? grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, "too much")
                               : grpc::Status::OK;
  };
  const FakeServer server(service, "127.0.0.1:0");
  const auto stream = OpenStream({.addresses = {server.address()}});
  EXPECT_TRUE(stream->Step(SmallRequest(0)).ok());
  const absl::Status status = stream->Step(SmallRequest(1)).status();
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_EQ(std::string(status.message()), "too much");
  EXPECT_EQ(stream->in_flight(), 0u);
  EXPECT_TRUE(stream->Step(SmallRequest(2)).ok());
}

}  // namespace
}  // namespace tokendraw
