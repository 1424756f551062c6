#include "service/dispatcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <latch>

#include "tests/service/requests.h"

namespace tokendraw {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class DispatcherTest : public ::testing::Test {
 protected:
  struct Call {
    Clock::time_point deadline = Clock::time_point::max();
    bool cancelled = false;
    RowWorker* here = nullptr;
  };

  // Sends one message and waits for its end.
  absl::Status Send(const v1::SampleTokensRequest& request, const Call& call,
                    v1::SampleTokensResponse& response) {
    ReceivedRequest received;
    EXPECT_TRUE(received.Read(Serialised(request)).ok());
    Dispatcher dispatcher(options_, 2, nullptr, metrics_);
    std::latch done(1);
    absl::Status result;
    dispatcher.Dispatch({.request = &received,
                         .response = &response,
                         .deadline = call.deadline,
                         .cancelled = [&] { return call.cancelled; },
                         .done =
                             [&](const absl::Status& status) {
                               result = status;
                               done.count_down();
                             }},
                        call.here);
    done.wait();
    return result;
  }

  Options options_;
  Metrics metrics_;
  v1::SampleTokensResponse response_;
};

TEST_F(DispatcherTest, AnswersEveryRow) {
  v1::SampleTokensRequest request = ValuesRequest({{9, 0, 0}, {0, 9, 0}});
  request.set_step(17);
  request.add_params()->set_temperature(0);
  request.add_rows()->set_seed(5);
  request.add_rows()->set_sample_count(2);
  ASSERT_TRUE(Send(request, {}, response_).ok());
  EXPECT_EQ(response_.step(), 17);
  EXPECT_EQ(response_.semantics_version(), "1");
  EXPECT_THAT(response_.token_ids(), ElementsAre(0, 1, 1));
  EXPECT_EQ(response_.seeds_size(), 2);
  EXPECT_EQ(response_.seeds(0), 5u);
  EXPECT_EQ(response_.details_size(), 0);
  EXPECT_EQ(metrics_.rows, 2);
}

// Field cases S37, S40 and S41.
TEST_F(DispatcherTest, ABadRowCostsItsBatchMatesNothing) {
  v1::SampleTokensRequest request =
      ValuesRequest({{1, NAN, 2}, {0, 9, 0}, {-INFINITY, -INFINITY, -INFINITY}});
  request.add_params()->set_temperature(0);
  for (int i = 0; i < 3; ++i) request.add_rows();
  request.mutable_rows(0)->set_sample_count(2);
  ASSERT_TRUE(Send(request, {}, response_).ok());
  EXPECT_THAT(response_.token_ids(), ElementsAre(-1, -1, 1, -1));
  ASSERT_EQ(response_.row_errors_size(), 2);
  EXPECT_EQ(response_.row_errors(0).row(), 0);
  EXPECT_EQ(response_.row_errors(0).code(), v1::ROW_ERROR_CODE_NOT_FINITE);
  EXPECT_EQ(response_.row_errors(0).token_id(), 1);
  EXPECT_EQ(response_.row_errors(1).row(), 2);
  EXPECT_EQ(response_.row_errors(1).code(), v1::ROW_ERROR_CODE_NO_CANDIDATE);
  EXPECT_EQ(response_.row_errors(1).token_id(), -1);
  EXPECT_THAT(response_.row_errors(1).message(), HasSubstr("no legal token"));
  EXPECT_EQ(metrics_.row_errors[v1::ROW_ERROR_CODE_NOT_FINITE], 1);
  EXPECT_EQ(metrics_.row_errors[v1::ROW_ERROR_CODE_NO_CANDIDATE], 1);
}

TEST_F(DispatcherTest, DetailsBelongToTheRowsThatAsked) {
  v1::SampleTokensRequest request = ValuesRequest({{0, 0}, {0, 0}});
  request.add_params();
  request.add_params()->set_return_kept(true);
  request.add_rows();
  request.add_rows()->set_params_index(1);
  request.mutable_rows(1)->set_sample_count(2);
  ASSERT_TRUE(Send(request, {}, response_).ok());
  ASSERT_EQ(response_.details_size(), 2);
  EXPECT_EQ(response_.details(1).row(), 1);
  EXPECT_EQ(response_.details(1).sample_index(), 1);
  EXPECT_EQ(response_.details(1).token_id(), response_.token_ids(2));
  EXPECT_THAT(response_.details(1).kept_ids(), ElementsAre(0, 1));
}

TEST_F(DispatcherTest, LittleWorkIsDoneWhereItWasRead) {
  RowWorker here;
  const auto small = ValuesRequest({{0, 9}});
  ASSERT_TRUE(Send(small, {.here = &here}, response_).ok());
  EXPECT_EQ(metrics_.messages_here, 1);

  auto large = ValuesRequest({{0, 9}});
  large.add_rows()->set_sample_count(1000);
  ASSERT_TRUE(Send(large, {.here = &here}, response_).ok());
  EXPECT_EQ(metrics_.messages_here, 1) << "many draws are no little work";
  EXPECT_EQ(Send(small, {.cancelled = true, .here = &here}, response_).code(),
            absl::StatusCode::kCancelled);
}

TEST_F(DispatcherTest, CountsByPayload) {
  const auto request = ValuesRequest({{0, 9}, {9, 0}});
  ASSERT_TRUE(Send(request, {}, response_).ok());
  EXPECT_EQ(metrics_.values.messages, 1);
  EXPECT_EQ(metrics_.values.rows, 2);
  EXPECT_EQ(metrics_.values.bytes, static_cast<int64_t>(request.ByteSizeLong()));
  EXPECT_EQ(metrics_.inline_rows.messages, 0);
  EXPECT_GT(metrics_.compute_ns, 0);
  EXPECT_GT(metrics_.queue_wait_ns, 0);
}

// Field case G08: what nobody waits for any more is not computed.
TEST_F(DispatcherTest, AnExpiredMessageIsNotComputed) {
  const auto request = ValuesRequest({{0, 0}});
  const absl::Status status = Send(request, {.deadline = Clock::time_point::min()}, response_);
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(metrics_.rows, 0);
  EXPECT_EQ(metrics_.messages_expired, 1);
}

TEST_F(DispatcherTest, ACancelledMessageIsNotComputed) {
  const auto request = ValuesRequest({{0, 0}});
  EXPECT_EQ(Send(request, {.cancelled = true}, response_).code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(metrics_.rows, 0);
  EXPECT_EQ(metrics_.messages_expired, 1);
}

TEST_F(DispatcherTest, RefusalsAreCountedByKind) {
  auto request = ValuesRequest({{0, 0}});
  request.add_params()->set_typical_p(0);
  const absl::Status invalid = Send(request, {}, response_);
  EXPECT_EQ(invalid.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(std::string(invalid.message()), "params[0].typical_p: typical_p must be in (0.0, 1.0]");
  EXPECT_EQ(WrongFields(invalid), "params[0].typical_p");
  EXPECT_EQ(metrics_.messages_invalid, 1);

  options_.max_queued_bytes = 8;
  const absl::Status full = Send(ValuesRequest({{0, 0}}), {}, response_);
  EXPECT_EQ(full.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(full.message()), HasSubstr("max_queued_bytes is 8"));
  EXPECT_GE(RetryAfterMs(full), 1);
  EXPECT_EQ(metrics_.messages_shed, 1);
}

TEST_F(DispatcherTest, AReplyOverTheLimitSaysSo) {
  options_.max_message_bytes = 100;
  auto request = ValuesRequest({std::vector<float>(200, 0.0f)});
  request.add_params()->set_return_kept(true);
  const absl::Status status = Send(request, {}, response_);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("over max_message_bytes 100"));
}

}  // namespace
}  // namespace tokendraw
