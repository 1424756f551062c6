#include "service/health.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/service/running_server.h"

namespace tokendraw {
namespace {

using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;

HealthCheckRequest Of(const std::string& service) {
  HealthCheckRequest request;
  request.set_service(service);
  return request;
}

const std::string& kSampling = *new std::string(v1::SamplingService::service_full_name());

// A call of Watch.
class Watcher {
 public:
  Watcher(const RunningServer& server, const std::string& service)
      : stub_(grpc::health::v1::Health::NewStub(server.NewChannel())),
        reader_(stub_->Watch(&context_, Of(service))) {}

  // UNKNOWN if the call is over.
  HealthStatus Next() {
    HealthCheckResponse response;
    return reader_->Read(&response) ? response.status() : HealthCheckResponse::UNKNOWN;
  }
  grpc::Status Leave() {
    context_.TryCancel();
    return reader_->Finish();
  }

 private:
  std::unique_ptr<grpc::health::v1::Health::Stub> stub_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReader<HealthCheckResponse>> reader_;
};

grpc::Status Check(const RunningServer& server, const std::string& service,
                   HealthCheckResponse& response) {
  const auto stub = grpc::health::v1::Health::NewStub(server.NewChannel());
  grpc::ClientContext context;
  return stub->Check(&context, Of(service), &response);
}

TEST(HealthTest, CheckTellsOfTheProcessAndOfTheService) {
  RunningServer server;
  for (const std::string& service : {std::string(), kSampling}) {
    HealthCheckResponse response;
    ASSERT_TRUE(Check(server, service, response).ok());
    EXPECT_EQ(response.status(), HealthCheckResponse::SERVING);
  }
  server->Drain();
  HealthCheckResponse process, service;
  ASSERT_TRUE(Check(server, "", process).ok());
  ASSERT_TRUE(Check(server, kSampling, service).ok());
  EXPECT_EQ(process.status(), HealthCheckResponse::SERVING);
  EXPECT_EQ(service.status(), HealthCheckResponse::NOT_SERVING);
}

TEST(HealthTest, CheckOfAnUnknownServiceIsNotFound) {
  RunningServer server;
  HealthCheckResponse response;
  EXPECT_EQ(Check(server, "x", response).error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST(HealthTest, WatchersHearOfADrainAndOthersDoNot) {
  RunningServer server;
  Watcher first(server, kSampling), second(server, kSampling), process(server, ""),
      unknown(server, "x");
  for (Watcher* watcher : {&first, &second, &process}) {
    EXPECT_EQ(watcher->Next(), HealthCheckResponse::SERVING);
  }
  EXPECT_EQ(unknown.Next(), HealthCheckResponse::SERVICE_UNKNOWN);
  server->Drain();
  EXPECT_EQ(first.Next(), HealthCheckResponse::NOT_SERVING);
  EXPECT_EQ(second.Next(), HealthCheckResponse::NOT_SERVING);
  EXPECT_EQ(process.Leave().error_code(), grpc::StatusCode::CANCELLED);
  EXPECT_EQ(process.Next(), HealthCheckResponse::UNKNOWN);
}

TEST(HealthTest, WatchersThatLeftAreForgotten) {
  RunningServer server;
  std::vector<std::unique_ptr<Watcher>> watchers;
  for (int i = 0; i < 50; ++i) {
    watchers.push_back(std::make_unique<Watcher>(server, kSampling));
    EXPECT_EQ(watchers.back()->Next(), HealthCheckResponse::SERVING);
    if (i % 2 == 0) watchers.back()->Leave();
  }
  server->Drain();
  for (size_t i = 1; i < watchers.size(); i += 2) {
    EXPECT_EQ(watchers[i]->Next(), HealthCheckResponse::NOT_SERVING);
  }
}

TEST(HealthTest, AServerEndsWithWatchersLeft) {
  auto server = std::make_unique<RunningServer>();
  Watcher watcher(*server, kSampling);
  EXPECT_EQ(watcher.Next(), HealthCheckResponse::SERVING);
  server.reset();
  EXPECT_EQ(watcher.Next(), HealthCheckResponse::UNKNOWN);
  EXPECT_FALSE(watcher.Leave().ok());
}

}  // namespace
}  // namespace tokendraw
