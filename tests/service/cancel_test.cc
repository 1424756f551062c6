// Calls that end at random moments: no crash, no race, nothing left behind.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <random>
#include <thread>
#include <vector>

#include "tests/service/requests.h"
#include "tests/service/running_server.h"

namespace tokendraw {
namespace {

constexpr int kThreads = 4;
constexpr int kCalls = 20'000;

v1::SampleTokensRequest Batch() {
  return ValuesRequest({std::vector<float>(2000, 0.0f), std::vector<float>(2000, 1.0f)});
}

// Whether a call that was cancelled, or had to end soon, may end so.
bool MayEndSo(grpc::StatusCode code) {
  return code == grpc::StatusCode::OK || code == grpc::StatusCode::CANCELLED ||
         code == grpc::StatusCode::DEADLINE_EXCEEDED;
}

void CallOnce(v1::SamplingService::Stub& stub, const v1::SampleTokensRequest& request,
              std::mt19937& random) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
  const std::chrono::microseconds patience(random() % 600);
  if (random() % 2 == 0) context.set_deadline(std::chrono::system_clock::now() + patience);
  grpc::CompletionQueue queue;
  v1::SampleTokensResponse response;
  grpc::Status status;
  const auto call = stub.AsyncSampleTokens(&context, request, &queue);
  call->Finish(&response, &status, nullptr);
  void* tag;
  bool ok;
  if (queue.AsyncNext(&tag, &ok, std::chrono::system_clock::now() + patience) !=
      grpc::CompletionQueue::GOT_EVENT) {
    context.TryCancel();
    queue.Next(&tag, &ok);
  }
  queue.Shutdown();
  EXPECT_TRUE(MayEndSo(status.error_code())) << status.error_message();
}

void StreamOnce(v1::SamplingService::Stub& stub, const v1::SampleTokensRequest& request,
                std::mt19937& random) {
  grpc::ClientContext context;
  const auto stream = stub.StreamSampleTokens(&context);
  const auto messages = random() % 4;
  for (unsigned i = 0; i < messages; ++i) stream->Write(request);
  v1::SampleTokensResponse response;
  if (messages > 0 && random() % 2 == 0) stream->Read(&response);
  context.TryCancel();
  const grpc::Status status = stream->Finish();
  EXPECT_TRUE(MayEndSo(status.error_code())) << status.error_message();
}

TEST(CancelTest, CallsThatEndAtAnyMomentLeaveNothing) {
  RunningServer server;
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      std::mt19937 random(static_cast<unsigned>(thread));
      const auto stub = server.NewStub();
      const v1::SampleTokensRequest request = Batch();
      for (int i = 0; i < kCalls / kThreads; ++i) {
        i % 8 == 0 ? StreamOnce(*stub, request, random) : CallOnce(*stub, request, random);
      }
    });
  }
  threads.clear();
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (server->metrics().streams != 0 && std::chrono::steady_clock::now() < end) {
    std::this_thread::yield();
  }
  EXPECT_EQ(server->metrics().streams, 0);
  v1::SampleTokensResponse response;
  grpc::ClientContext context;
  ASSERT_TRUE(server.NewStub()->SampleTokens(&context, Batch(), &response).ok());
  EXPECT_EQ(response.token_ids_size(), 2);
}

}  // namespace
}  // namespace tokendraw
