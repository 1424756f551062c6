#include <gmock/gmock.h>
#include <grpcpp/generic/generic_stub.h>
#include <gtest/gtest.h>

#include <latch>
#include <random>
#include <thread>

#include "tests/service/requests.h"
#include "tests/service/running_server.h"

namespace tokendraw {
namespace {

using Stream = grpc::ClientReaderWriter<v1::SampleTokensRequest, v1::SampleTokensResponse>;

v1::SampleTokensRequest Step(int64_t step, size_t vocab_size = 100) {
  auto request = ValuesRequest({std::vector<float>(vocab_size, 0.0f)});
  request.set_step(step);
  request.add_rows()->set_seed(1);
  request.mutable_rows(0)->set_position(step);
  return request;
}

TEST(StreamTest, RepliesKeepTheOrderOfTheMessages) {
  Options options;
  options.threads = 4;
  options.max_in_flight = 8;
  RunningServer server(options);
  const auto stub = server.NewStub();
  grpc::ClientContext context;
  const std::unique_ptr<Stream> stream = stub->StreamSampleTokens(&context);
  constexpr int kSteps = 300;
  std::thread writer([&] {
    // Large and small rows by turns: the small ones are computed first.
    for (int i = 0; i < kSteps; ++i) stream->Write(Step(i, i % 2 == 0 ? 20'000 : 2));
    stream->WritesDone();
  });
  v1::SampleTokensResponse response;
  int replies = 0;
  while (stream->Read(&response)) {
    EXPECT_EQ(response.step(), replies++);
    EXPECT_FALSE(response.has_error());
  }
  writer.join();
  EXPECT_EQ(replies, kSteps);
  EXPECT_TRUE(stream->Finish().ok());
}

TEST(StreamTest, OpensBeforeTheFirstMessage) {
  RunningServer server;
  const auto stub = server.NewStub();
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
  const std::unique_ptr<Stream> stream = stub->StreamSampleTokens(&context);
  stream->WaitForInitialMetadata();  // until the deadline at most
  ASSERT_TRUE(stream->Write(Step(1)));
  v1::SampleTokensResponse response;
  ASSERT_TRUE(stream->Read(&response));
  EXPECT_EQ(response.step(), 1);
}

TEST(StreamTest, OneThatOpensWhileTheServerDrainsIsEnded) {
  RunningServer server;
  server->Drain();
  const auto stub = server.NewStub();
  grpc::ClientContext context;
  const std::unique_ptr<Stream> stream = stub->StreamSampleTokens(&context);
  v1::SampleTokensResponse response;
  EXPECT_FALSE(stream->Read(&response));
  const grpc::Status status = stream->Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(status.error_message(), "the server is draining");
}

TEST(StreamTest, ARefusedMessageDoesNotEndTheStream) {
  RunningServer server;
  const auto stub = server.NewStub();
  grpc::ClientContext context;
  const std::unique_ptr<Stream> stream = stub->StreamSampleTokens(&context);
  v1::SampleTokensResponse response;
  v1::SampleTokensRequest bad = Step(1);
  bad.add_params()->set_typical_p(0);
  ASSERT_TRUE(stream->Write(bad));
  ASSERT_TRUE(stream->Read(&response));
  EXPECT_EQ(response.step(), 1);
  EXPECT_EQ(response.error().code(), 3);
  EXPECT_EQ(response.error().message(), "params[0].typical_p: typical_p must be in (0.0, 1.0]");
  EXPECT_EQ(response.token_ids_size(), 0);
  ASSERT_TRUE(stream->Write(Step(2)));
  ASSERT_TRUE(stream->Read(&response));
  EXPECT_FALSE(response.has_error());
  EXPECT_EQ(response.token_ids_size(), 1);
  stream->WritesDone();
  EXPECT_TRUE(stream->Finish().ok());
}

// Bytes that are no request, as no generated client would send them.
TEST(StreamTest, BytesThatAreNoMessageDoNotEndTheStream) {
  RunningServer server;
  grpc::GenericStub stub(server.NewChannel());
  grpc::ClientContext context;
  grpc::CompletionQueue queue;
  const auto await = [&queue] {
    void* tag;
    bool ok = false;
    return queue.Next(&tag, &ok) && ok;
  };
  const auto stream =
      stub.PrepareCall(&context, "/tokendraw.v1.SamplingService/StreamSampleTokens", &queue);
  stream->StartCall(nullptr);
  ASSERT_TRUE(await());
  for (const bool is_message : {false, true, false}) {
    const grpc::Slice garbage("\x7a\x05\x7a\x04xyz");
    stream->Write(is_message ? Serialised(Step(7)) : grpc::ByteBuffer(&garbage, 1), nullptr);
    ASSERT_TRUE(await());
    grpc::ByteBuffer bytes;
    stream->Read(&bytes, nullptr);
    ASSERT_TRUE(await());
    grpc::Slice whole;
    ASSERT_TRUE(bytes.TrySingleSlice(&whole).ok() || bytes.DumpToSingleSlice(&whole).ok());
    v1::SampleTokensResponse response;
    ASSERT_TRUE(response.ParseFromArray(whole.begin(), static_cast<int>(whole.size())));
    EXPECT_EQ(response.has_error(), !is_message);
    EXPECT_EQ(response.token_ids_size(), is_message ? 1 : 0);
    if (!is_message) {
      EXPECT_EQ(response.error().code(), grpc::StatusCode::INVALID_ARGUMENT);
      EXPECT_EQ(response.error().message(), "the message is not a serialised SampleTokensRequest");
    }
  }
  context.TryCancel();
  queue.Shutdown();
  while (await()) {
  }
}

TEST(StreamTest, AnIdleStreamEndsWhenTheServerDrains) {
  RunningServer server;
  const auto stub = server.NewStub();
  grpc::ClientContext context;
  const std::unique_ptr<Stream> stream = stub->StreamSampleTokens(&context);
  v1::SampleTokensResponse response;
  ASSERT_TRUE(stream->Write(Step(1)));
  ASSERT_TRUE(stream->Read(&response));
  EXPECT_EQ(server->metrics().streams, 1);
  server->Drain();
  EXPECT_FALSE(stream->Read(&response));
  const grpc::Status status = stream->Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(status.error_message(), "the server is draining");
  EXPECT_EQ(server->metrics().streams, 0);
}

// Field case G05: a client that takes no replies is cut off; what the server holds for it is
// bounded by max_in_flight and the transport's window.
TEST(StreamTest, AStalledStreamIsCancelled) {
  Options options;
  options.write_timeout_ms = 200;
  RunningServer server(options);
  const auto stub = server.NewStub();
  grpc::ClientContext context;
  const std::unique_ptr<Stream> stream = stub->StreamSampleTokens(&context);
  // Replies of 0.5 MB, none of which is read; the client's window is smaller.
  v1::SampleTokensRequest request = Step(0, 100'000);
  request.add_params()->set_return_kept(true);
  while (stream->Write(request)) {
  }
  EXPECT_EQ(server->metrics().streams_stalled, 1);
  v1::SampleTokensResponse response;
  while (stream->Read(&response)) {
  }
  EXPECT_FALSE(stream->Finish().ok());
}

// Streams that are cancelled at any moment leave nothing behind.
TEST(StreamTest, CancelledStreamsAreForgotten) {
  RunningServer server;
  constexpr int kThreads = 4;
  constexpr int kStreams = 250;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&server, t] {
      const auto stub = server.NewStub();
      std::mt19937 random(t);
      for (int i = 0; i < kStreams; ++i) {
        grpc::ClientContext context;
        const std::unique_ptr<Stream> stream = stub->StreamSampleTokens(&context);
        const uint32_t writes = random() % 4;
        for (uint32_t w = 0; w < writes; ++w) stream->Write(Step(w, 5000));
        v1::SampleTokensResponse response;
        if (writes > 0 && random() % 2 == 0) stream->Read(&response);
        if (random() % 2 == 0) {
          context.TryCancel();
        } else {
          stream->WritesDone();
          while (stream->Read(&response)) {
          }
        }
        stream->Finish();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  server->Drain();
  EXPECT_EQ(server->metrics().streams, 0);
}

TEST(StreamTest, DrainWithBusyStreamsAnswersWhatIsInFlight) {
  RunningServer server;
  constexpr int kStreams = 4;
  std::latch started(kStreams);
  std::vector<std::thread> threads;
  for (int t = 0; t < kStreams; ++t) {
    threads.emplace_back([&] {
      const auto stub = server.NewStub();
      grpc::ClientContext context;
      const std::unique_ptr<Stream> stream = stub->StreamSampleTokens(&context);
      v1::SampleTokensResponse response;
      for (int64_t step = 0; stream->Write(Step(step, 5000)) && stream->Read(&response); ++step) {
        EXPECT_EQ(response.step(), step);
        EXPECT_FALSE(response.has_error());
        if (step == 0) started.count_down();
      }
      EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
    });
  }
  started.wait();
  server->Drain();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(server->metrics().streams, 0);
}

}  // namespace
}  // namespace tokendraw
