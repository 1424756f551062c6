#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>

#include "client/client.h"
#include "tests/client/fake_server.h"

namespace tokendraw {
namespace {

constexpr std::chrono::milliseconds kLong = std::chrono::minutes(1);

std::unique_ptr<Client> MakeClient(const ClientOptions& options) {
  auto client = Client::Create(options);
  EXPECT_TRUE(client.ok()) << client.status();
  return *std::move(client);
}

TEST(AddressesTest, CallsRotateOverAllServers) {
  FakeService services[3];
  const FakeServer a(services[0], "127.0.0.1:0");
  const FakeServer b(services[1], "127.0.0.1:0");
  const FakeServer c(services[2], "127.0.0.1:0");
  const auto client = MakeClient({.addresses = {a.address(), b.address(), c.address()}});
  for (int i = 0; i < 30; ++i) ASSERT_TRUE(client->SampleTokens(SmallRequest(i)).ok());
  for (const FakeService& service : services) EXPECT_EQ(service.calls, 10);
}

TEST(AddressesTest, StreamsRotateToo) {
  FakeService services[2];
  const FakeServer a(services[0], "127.0.0.1:0");
  const FakeServer b(services[1], "127.0.0.1:0");
  const auto client = MakeClient({.addresses = {a.address(), b.address()}});
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(client->OpenStream()->Step(SmallRequest(i)).ok());
  for (const FakeService& service : services) EXPECT_EQ(service.streams, 2);
}

TEST(AddressesTest, ADeadOneCostsNoCall) {
  const TempDir dir;
  FakeService services[2];
  const FakeServer a(services[0], dir.Socket("a"));
  const FakeServer b(services[1], dir.Socket("b"));
  const auto client = MakeClient({.addresses = {a.address(), dir.Socket("dead"), b.address()},
                                  .deadline = kLong,
                                  .wait_for_ready = false});
  for (int i = 0; i < 30; ++i) {
    const auto response = client->SampleTokens(SmallRequest(i));
    ASSERT_TRUE(response.ok()) << response.status();
    EXPECT_EQ(response->step(), i);
  }
  EXPECT_EQ(services[0].calls + services[1].calls, 30);
  EXPECT_GE(services[0].calls, 10);
  EXPECT_GE(services[1].calls, 10);
}

TEST(AddressesTest, OneThatDiesIsLeftOut) {
  const TempDir dir;
  FakeService services[2];
  const FakeServer a(services[0], dir.Socket("a"));
  auto b = std::make_unique<FakeServer>(services[1], dir.Socket("b"));
  const auto client = MakeClient({.addresses = {a.address(), b->address()}, .deadline = kLong});
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(client->SampleTokens(SmallRequest(i)).ok());
  EXPECT_EQ(services[1].calls, 2);
  b.reset();
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(client->SampleTokens(SmallRequest(i)).ok());
  EXPECT_EQ(services[0].calls, 12);
}

// The first server refuses everything. On its second refusal the other address, where nobody
// listened, has been tried; then a server comes up there.
TEST(AddressesTest, WaitsForAServerThatComesUpLate) {
  const TempDir dir;
  std::promise<void> tried;
  FakeService refusing;
  refusing.answer = [&](const v1::SampleTokensRequest&, v1::SampleTokensResponse&) {
    if (refusing.calls == 2) tried.set_value();
    return grpc::Status(grpc::StatusCode::UNAVAILABLE, "draining");
  };
  const FakeServer first(refusing, dir.Socket("refusing"));
  const auto client =
      MakeClient({.addresses = {first.address(), dir.Socket("late")}, .deadline = kLong});
  auto response =
      std::async(std::launch::async, [&] { return client->SampleTokens(SmallRequest(7)); });
  tried.get_future().wait();
  FakeService late;
  const FakeServer second(late, dir.Socket("late"));
  ASSERT_TRUE(response.get().ok());
  EXPECT_EQ(late.calls, 1);
}

}  // namespace
}  // namespace tokendraw
