#include "service/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <latch>
#include <thread>

#include "tests/service/requests.h"
#include "tests/service/running_server.h"

namespace tokendraw {
namespace {

using ::testing::HasSubstr;

TEST(ServerTest, OneServerOnASocketPath) {
  RunningServer server;
  Options options;
  options.listen = {server.address()};
  const absl::Status second = Server::Start(options).status();
  EXPECT_EQ(second.code(), absl::StatusCode::kFailedPrecondition);
  grpc::ClientContext context;
  v1::GetServerInfoResponse info;
  EXPECT_TRUE(server.NewStub()->GetServerInfo(&context, {}, &info).ok());
}

TEST(ServerTest, OneServerOnAPort) {
  Options options;
  options.listen = {"127.0.0.1:0"};
  const auto first = Server::Start(options);
  ASSERT_TRUE(first.ok()) << first.status();
  options.listen = (*first)->addresses();
  EXPECT_THAT(options.listen.front(), ::testing::Not(HasSubstr(":0")));
  const absl::Status second = Server::Start(options).status();
  EXPECT_EQ(second.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(second.message()), HasSubstr(options.listen.front()));
}

TEST(ServerTest, InfoTellsTheLimits) {
  Options options;
  options.max_message_bytes = 1 << 20;
  options.max_rows = 5;
  options.max_draws = 6;
  options.max_in_flight = 3;
  options.threads = 2;
  RunningServer server(options);
  grpc::ClientContext context;
  v1::GetServerInfoResponse info;
  ASSERT_TRUE(server.NewStub()->GetServerInfo(&context, {}, &info).ok());
  EXPECT_EQ(info.max_message_bytes(), 1 << 20);
  EXPECT_EQ(info.max_rows(), 5);
  EXPECT_EQ(info.max_draws(), 6);
  EXPECT_EQ(info.max_in_flight(), 3);
  EXPECT_EQ(info.max_queued_bytes(), options.max_queued_bytes);
  EXPECT_EQ(info.threads(), 2);
  EXPECT_EQ(info.semantics_version(), "1");
  EXPECT_FALSE(info.version().empty());
  EXPECT_FALSE(info.shared_memory());
}

TEST(ServerTest, ValidateParamsListsAllViolations) {
  RunningServer server;
  v1::ValidateParamsRequest request;
  request.add_params();
  request.add_params()->set_typical_p(0);
  request.mutable_params(1)->set_top_k(-1);
  request.mutable_params(1)->add_xtc_protected_ids(7);
  request.set_vocab_size(7);
  grpc::ClientContext strict_context, lenient_context;
  v1::ValidateParamsResponse response;
  ASSERT_TRUE(server.NewStub()->ValidateParams(&strict_context, request, &response).ok());
  ASSERT_EQ(response.violations_size(), 3);
  EXPECT_EQ(response.violations(0).field(), "params[1].top_k");
  EXPECT_EQ(response.violations(1).field(), "params[1].typical_p");
  EXPECT_EQ(response.violations(1).message(), "typical_p must be in (0.0, 1.0]");
  EXPECT_EQ(response.violations(2).field(), "params[1].xtc_protected_ids[0]");

  request.set_validation(v1::VALIDATION_LENIENT);
  response.Clear();
  ASSERT_TRUE(server.NewStub()->ValidateParams(&lenient_context, request, &response).ok());
  ASSERT_EQ(response.violations_size(), 1) << "an id that is not there stays an error";
}

TEST(ServerTest, ExplainRowChecksItsParametersAndSaysThatItIsMissing) {
  RunningServer server;
  v1::ExplainRowRequest request;
  v1::ExplainRowResponse response;
  grpc::ClientContext good_context, bad_context;
  const grpc::Status missing = server.NewStub()->ExplainRow(&good_context, request, &response);
  EXPECT_EQ(missing.error_code(), grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_THAT(missing.error_message(), HasSubstr("ExplainRow"));
  request.mutable_params()->set_typical_p(2);
  const grpc::Status bad = server.NewStub()->ExplainRow(&bad_context, request, &response);
  EXPECT_EQ(bad.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(bad.error_message(), "params.typical_p: typical_p must be in (0.0, 1.0]");
}

// Field case G03: a caller sees its answer or UNAVAILABLE, which is safe to retry.
TEST(ServerTest, DrainUnderLoadIsUnavailableAndNothingElse) {
  RunningServer server;
  constexpr int kCallers = 4;
  std::vector<std::future<int>> answered;
  std::latch started(kCallers);
  for (int i = 0; i < kCallers; ++i) {
    answered.push_back(std::async(std::launch::async, [&] {
      const auto stub = server.NewStub();
      const auto request = ValuesRequest({std::vector<float>(1000, 0.0f)});
      for (int calls = 0;; ++calls) {
        grpc::ClientContext context;
        v1::SampleTokensResponse response;
        const grpc::Status status = stub->SampleTokens(&context, request, &response);
        if (calls == 0) started.count_down();
        if (status.ok()) continue;
        EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE) << status.error_message();
        return calls;
      }
    }));
  }
  started.wait();
  server->Drain();
  for (std::future<int>& calls : answered) EXPECT_GE(calls.get(), 1);
}

}  // namespace
}  // namespace tokendraw
