#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <ostream>
#include <string>

#include "client/client.h"
#include "tests/client/fake_server.h"

namespace tokendraw {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int kMiB = 1 << 20;

std::unique_ptr<Client> MakeClient(const FakeServer& server) {
  auto client = Client::Create({.addresses = {server.address()}});
  EXPECT_TRUE(client.ok()) << client.status();
  return *std::move(client);
}

// Makes every reply `bytes` long and a little.
void ReplyWith(int bytes, FakeService& service) {
  service.answer = [bytes](const v1::SampleTokensRequest& request,
                           v1::SampleTokensResponse& response) {
    response = FakeAnswer(request);
    response.set_semantics_version(std::string(bytes, 'x'));
    return grpc::Status::OK;
  };
}

struct ReplyCase {
  const char* name;
  int reply_bytes;
  int max_message_bytes;  // 0: GetServerInfo is UNIMPLEMENTED
  bool arrives;
};

// The name alone, so that ctest's names stay the same.
void PrintTo(const ReplyCase& c, std::ostream* out) { *out << c.name; }

class ReplyLimitTest : public testing::TestWithParam<ReplyCase> {};

TEST_P(ReplyLimitTest, IsTheServersOwn) {
  FakeService service;
  ReplyWith(GetParam().reply_bytes, service);
  service.info.set_max_message_bytes(GetParam().max_message_bytes);
  if (GetParam().max_message_bytes == 0) {
    service.info_status = grpc::Status(grpc::StatusCode::UNIMPLEMENTED, "");
  }
  const FakeServer server(service, "127.0.0.1:0");
  const auto client = MakeClient(server);
  const auto unary = client->SampleTokens(SmallRequest(1));
  const auto streamed = client->OpenStream()->Step(SmallRequest(1));
  EXPECT_EQ(unary.ok(), GetParam().arrives) << unary.status();
  EXPECT_EQ(streamed.ok(), GetParam().arrives) << streamed.status();
  if (!GetParam().arrives) {
    EXPECT_TRUE(absl::IsResourceExhausted(unary.status())) << unary.status();
    EXPECT_TRUE(absl::IsResourceExhausted(streamed.status())) << streamed.status();
  }
}

INSTANTIATE_TEST_SUITE_P(All, ReplyLimitTest,
                         testing::Values(ReplyCase{"FiveMiBWithinEight", 5 * kMiB, 8 * kMiB, true},
                                         ReplyCase{"FiveMiBAboveFourAndAHalf", 5 * kMiB,
                                                   4 * kMiB + kMiB / 2, false},
                                         ReplyCase{"ThreeMiBWithinGrpcsOwn", 3 * kMiB, 0, true},
                                         ReplyCase{"FiveMiBAboveGrpcsOwn", 5 * kMiB, 0, false}),
                         [](const auto& info) { return info.param.name; });

TEST(RequestLimitTest, IsCheckedBeforeSending) {
  const v1::SampleTokensRequest request = SmallRequest(1);
  const auto bytes = static_cast<std::int64_t>(request.ByteSizeLong());
  for (const std::int64_t limit : {bytes, bytes - 1}) {
    FakeService service;
    service.info.set_max_message_bytes(limit);
    const FakeServer server(service, "127.0.0.1:0");
    const auto client = MakeClient(server);
    const auto stream = client->OpenStream();
    const absl::Status statuses[] = {client->SampleTokens(request).status(),
                                     stream->Step(request).status(), stream->Write(request)};
    for (const absl::Status& status : statuses) {
      if (limit == bytes) {
        EXPECT_TRUE(status.ok()) << status;
        continue;
      }
      EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
      EXPECT_THAT(std::string(status.message()),
                  AllOf(HasSubstr(std::to_string(bytes)), HasSubstr(std::to_string(limit))));
    }
    EXPECT_EQ(stream->in_flight(), limit == bytes ? 1u : 0u);
    EXPECT_EQ(stream->Read().ok(), limit == bytes);
    EXPECT_EQ(service.calls + service.messages, limit == bytes ? 3 : 0);
  }
}

}  // namespace
}  // namespace tokendraw
