// Several servers behind one client: hedged calls, streams that move on.
#include <gtest/gtest.h>

#include <chrono>
#include <latch>
#include <memory>
#include <string>
#include <thread>

#include "client/client.h"
#include "tests/client/fake_server.h"

namespace tokendraw {
namespace {

using std::chrono::milliseconds;

// Never reached: a test that waits so long fails in other ways.
constexpr milliseconds kLong = std::chrono::minutes(1);

class PoolTest : public testing::Test {
 protected:
  std::unique_ptr<Client> NewClient(ClientOptions options) {
    options.addresses = {first_server_.address(), second_server_.address()};
    options.deadline = kLong;
    auto client = Client::Create(options);
    EXPECT_TRUE(client.ok()) << client.status();
    return *std::move(client);
  }

  std::latch released_{1};  // what an answer may wait for
  const TempDir dir_;
  FakeService first_, second_;
  const FakeServer first_server_{first_, dir_.Socket("1")};
  const FakeServer second_server_{second_, dir_.Socket("2")};
};

class HedgeTest : public PoolTest {
 protected:
  // The server that is asked first answers when the test ends.
  HedgeTest() {
    first_.answer = [this](const v1::SampleTokensRequest& request,
                           v1::SampleTokensResponse& response) {
      released_.wait();
      response = FakeAnswer(request);
      return grpc::Status::OK;
    };
  }

  static v1::SampleTokensRequest Seeded() {
    v1::SampleTokensRequest request = SmallRequest(3);
    request.clear_rows();
    request.add_rows()->set_seed(9);
    return request;
  }
};

TEST_F(HedgeTest, ASlowServerIsOvertaken) {
  const auto client = NewClient({.hedge_delay = milliseconds(20)});
  const auto reply = client->SampleTokens(Seeded());
  released_.count_down();
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->step(), 3);
  EXPECT_EQ(reply->token_ids(0), 1);
  EXPECT_EQ(first_.calls, 1);
  EXPECT_EQ(second_.calls, 1);
}

TEST_F(HedgeTest, AFastServerIsAskedAlone) {
  released_.count_down();
  const auto client = NewClient({.hedge_delay = kLong});
  ASSERT_TRUE(client->SampleTokens(Seeded()).ok());
  EXPECT_EQ(first_.calls + second_.calls, 1);
}

TEST_F(HedgeTest, RowsWithoutASeedAreDrawnOnce) {
  released_.count_down();
  first_.answer = [](const v1::SampleTokensRequest& request, v1::SampleTokensResponse& response) {
    response = FakeAnswer(request);
    return grpc::Status::OK;
  };
  const auto client = NewClient({.hedge_delay = milliseconds(1)});
  v1::SampleTokensRequest request = SmallRequest(3);
  request.clear_rows();
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(client->SampleTokens(request).ok());
  EXPECT_EQ(first_.calls + second_.calls, 20);
}

TEST_F(HedgeTest, TheAnswerOfTheOtherCountsIfOneFails) {
  second_.answer = [](const auto&, auto&) {
    return grpc::Status(grpc::StatusCode::INTERNAL, "broken");
  };
  const auto client = NewClient({.hedge_delay = milliseconds(20)});
  std::jthread later([&] {
    while (second_.calls == 0) std::this_thread::yield();
    released_.count_down();
  });
  const auto reply = client->SampleTokens(Seeded());
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->token_ids(0), 1);
}

TEST_F(PoolTest, AStreamMovesOnBetweenSteps) {
  const auto stream = NewClient({.stream_rotation = milliseconds(1)})->OpenStream();
  int step = 0;
  while (first_.messages == 0 || second_.messages == 0) {
    const auto reply = stream->Step(SmallRequest(step));
    ASSERT_TRUE(reply.ok()) << reply.status();
    ASSERT_EQ(reply->step(), step++);
  }
  EXPECT_EQ(first_.messages + second_.messages, step);
  EXPECT_GE(first_.streams + second_.streams, 2);
}

TEST_F(PoolTest, AStreamWithUnansweredMessagesStays) {
  const auto stream = NewClient({.stream_rotation = milliseconds(1)})->OpenStream();
  ASSERT_TRUE(stream->Write(SmallRequest(0)).ok());
  const auto end = std::chrono::steady_clock::now() + milliseconds(5);
  while (std::chrono::steady_clock::now() < end) {
  }
  ASSERT_TRUE(stream->Write(SmallRequest(1)).ok());
  for (int step = 0; step < 2; ++step) {
    const auto reply = stream->Read();
    ASSERT_TRUE(reply.ok()) << reply.status();
    EXPECT_EQ(reply->step(), step);
  }
  EXPECT_EQ(first_.streams + second_.streams, 1);
}

TEST_F(PoolTest, WithoutRotationAStreamStays) {
  const auto stream = NewClient({})->OpenStream();
  for (int step = 0; step < 100; ++step) ASSERT_TRUE(stream->Step(SmallRequest(step)).ok());
  EXPECT_EQ(first_.streams + second_.streams, 1);
}

TEST(ClientOptionsTest, NamesWhatIsOutOfRange) {
  const auto text = [](const ClientOptions& options) {
    return std::string(Client::Create(options).status().message());
  };
  EXPECT_EQ(text({.addresses = {"a:1"}, .hedge_delay = milliseconds(-1)}),
            "hedge_delay must be >= 0");
  EXPECT_EQ(text({.addresses = {"a:1"}, .stream_rotation = milliseconds(-1)}),
            "stream_rotation must be >= 0");
  EXPECT_EQ(text({.addresses = {"a:1"}, .tls = TlsOptions{.ca_file = "/none"}}),
            "tls.ca_file: /none cannot be read");
  EXPECT_EQ(text({.addresses = {"a:1"}, .tls = TlsOptions{.cert_file = "/dev/null"}}),
            "tls.cert_file and tls.key_file go together");
  EXPECT_EQ(text({.addresses = {"a:1"}, .token_file = "/none"}),
            "token_file: /none cannot be read or has no token");
}

}  // namespace
}  // namespace tokendraw
