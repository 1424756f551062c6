#include "service/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
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
  const absl::Status second = Server::Start(options, QuietLog()).status();
  EXPECT_EQ(second.code(), absl::StatusCode::kFailedPrecondition);
  grpc::ClientContext context;
  v1::GetServerInfoResponse info;
  EXPECT_TRUE(server.NewStub()->GetServerInfo(&context, {}, &info).ok());
}

TEST(ServerTest, OneServerOnAPort) {
  Options options;
  options.listen = {"127.0.0.1:0"};
  const auto first = Server::Start(options, QuietLog());
  ASSERT_TRUE(first.ok()) << first.status();
  options.listen = (*first)->addresses();
  EXPECT_THAT(options.listen.front(), ::testing::Not(HasSubstr(":0")));
  const absl::Status second = Server::Start(options, QuietLog()).status();
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

TEST(ServerTest, ExplainRow) {
  RunningServer server;
  v1::ExplainRowRequest request;
  *request.mutable_logits() =
      ValuesRequest({{std::log(0.45f), std::log(0.275f), std::log(0.275f)}}).logits();
  request.mutable_params()->set_typical_p(0.3);
  request.mutable_row()->set_seed(7);
  v1::ExplainRowResponse response;
  grpc::ClientContext context;
  ASSERT_TRUE(server.NewStub()->ExplainRow(&context, request, &response).ok());
  EXPECT_THAT(response.token_id(), testing::AnyOf(1, 2));
  EXPECT_EQ(response.seed(), 7u);
  EXPECT_EQ(response.semantics_version(), "1");
  ASSERT_EQ(response.stages_size(), 2);
  EXPECT_EQ(response.stages(0).filter(), v1::FILTER_UNSPECIFIED);
  EXPECT_EQ(response.stages(1).filter(), v1::FILTER_TYPICAL_P);
  EXPECT_EQ(response.stages(1).after(), 2);
  EXPECT_NEAR(response.stages(1).mass_removed(), 0.45, 1e-6);
  EXPECT_NEAR(response.stages(1).entropy_before(), 1.069, 1e-3);
  ASSERT_EQ(response.tokens_size(), 3);
  EXPECT_EQ(response.tokens(0).token_id(), 0);
  EXPECT_EQ(response.tokens(0).removed_by(), 1);
  EXPECT_FALSE(response.tokens(1).has_removed_by());
  EXPECT_FALSE(response.has_xtc_coin());
  EXPECT_FALSE(response.has_row_error());
}

TEST(ServerTest, ExplainRowNamesWhatIsWrong) {
  RunningServer server;
  const auto fault = [&](const auto& change) {
    v1::ExplainRowRequest request;
    *request.mutable_logits() = ValuesRequest({{1, 2}}).logits();
    change(request);
    v1::ExplainRowResponse response;
    grpc::ClientContext context;
    const grpc::Status status = server.NewStub()->ExplainRow(&context, request, &response);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    return status.error_message();
  };
  EXPECT_EQ(fault([](auto& r) { r.mutable_params()->set_typical_p(2); }),
            "params.typical_p: typical_p must be in (0.0, 1.0]");
  EXPECT_EQ(fault([](auto& r) { r.set_sample_index(65536); }),
            "sample_index: sample_index must be in [0, 65536)");
  EXPECT_EQ(fault([](auto& r) { r.set_top_tokens(1001); }),
            "top_tokens: top_tokens must be in [0, 1000]");
  EXPECT_EQ(fault([](auto& r) { r.mutable_row()->add_output_ids(2); }),
            "row.output_ids[0]: id must be in [0, 2), got 2");
  EXPECT_EQ(fault([](auto& r) { r.clear_logits(); }),
            "logits.vocab_size: vocab_size must be >= 1; logits.row_count: row_count must be >= 1");
  EXPECT_EQ(fault([](auto& r) {
              *r.mutable_logits() = ValuesRequest({{1, 2}, {1, 2}}).logits();
            }),
            "logits.row_count: row_count must be 1");
  EXPECT_EQ(fault([](auto& r) { r.mutable_logits()->mutable_candidates(); }),
            "logits.candidates: a row is explained from all of its logits");
  EXPECT_THAT(fault([](auto& r) { r.mutable_logits()->set_vocab_size((1 << 20) + 1); }),
              HasSubstr("rows of at most 1048576 tokens are explained"));
}

TEST(ServerTest, ExplainRowTellsOfBadRows) {
  RunningServer server;
  v1::ExplainRowRequest request;
  *request.mutable_logits() = ValuesRequest({{1, NAN}}).logits();
  v1::ExplainRowResponse response;
  grpc::ClientContext context;
  ASSERT_TRUE(server.NewStub()->ExplainRow(&context, request, &response).ok());
  EXPECT_EQ(response.token_id(), -1);
  EXPECT_EQ(response.row_error().code(), v1::ROW_ERROR_CODE_NOT_FINITE);
  EXPECT_EQ(response.row_error().token_id(), 1);
  EXPECT_EQ(response.stages_size(), 0);
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
