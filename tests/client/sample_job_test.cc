#include "client/cli/sample_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "tests/client/fake_server.h"
#include "tests/client/files.h"

namespace tokendraw::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

// Row i of `rows` has its largest logit at id i % 1000, of 1000.
SampleJob MakeJob(int rows) {
  SampleJob job;
  job.logits = {v1::DATA_TYPE_F32, rows, 1000, ""};
  for (int row = 0; row < rows; ++row) {
    std::vector<float> values(1000, 0);
    values[row % 1000] = 1;
    job.logits.data += FloatBytes(values);
    job.rows.push_back(row);
  }
  return job;
}

TEST(RowsPerMessageTest, StaysWithinEveryLimit) {
  SampleJob job = MakeJob(1);
  v1::GetServerInfoResponse limits;
  limits.set_max_message_bytes(64 << 20);
  limits.set_max_rows(4096);
  limits.set_max_draws(65536);
  EXPECT_EQ(RowsPerMessage(job, limits), 16u);
  limits.set_max_rows(5);
  EXPECT_EQ(RowsPerMessage(job, limits), 5u);
  limits.set_max_draws(13);
  job.first_row.set_sample_count(3);
  EXPECT_EQ(RowsPerMessage(job, limits), 4u);
  job.first_row.set_sample_count(100);
  EXPECT_EQ(RowsPerMessage(job, limits), 1u);
}

// Of a message with its rows inline.
std::size_t MessageBytes(const SampleJob& job, std::size_t rows) {
  std::vector<std::byte> data(rows * 4000);
  v1::SampleTokensRequest request = MakeRequest(job, 0, rows, data);
  request.mutable_logits()->set_inline_(data.data(), data.size());
  return request.ByteSizeLong();
}

TEST(RowsPerMessageTest, FillsMessagesUpToTheLimitInBytes) {
  SampleJob job = MakeJob(16);
  for (int i = 0; i < 200; ++i) job.first_row.add_prompt_ids(1'000'000 + i);
  job.first_row.set_seed(1);
  v1::GetServerInfoResponse limits;
  for (int bytes = 6000; bytes < 80'000; bytes += 1000) {
    limits.set_max_message_bytes(bytes);
    const std::size_t rows = RowsPerMessage(job, limits);
    EXPECT_LE(MessageBytes(job, rows), static_cast<std::size_t>(bytes));
    if (rows < 16) {
      EXPECT_GT(MessageBytes(job, rows + 1) + 2000, static_cast<std::size_t>(bytes));
    }
  }
}

TEST(RunJobTest, SplitsAndPutsTogetherInOrder) {
  std::vector<int> message_rows;
  std::vector<std::int64_t> positions;
  FakeService service;
  service.info.set_max_rows(7);
  service.answer = [&](const v1::SampleTokensRequest& request, v1::SampleTokensResponse& response) {
    message_rows.push_back(request.logits().row_count());
    for (const v1::RowSpec& row : request.rows()) positions.push_back(row.position());
    response = FakeAnswer(request);
    return grpc::Status::OK;
  };
  const FakeServer server(service, "127.0.0.1:0");
  const auto client = Client::Create({.addresses = {server.address()}});
  SampleJob job = MakeJob(20);
  job.rows = {19, 3, 3, 7, 8, 9, 10, 11, 12};
  job.first_row.set_position(100);
  job.params.mutable_logprobs();
  const std::vector<float> nan(1000, std::numeric_limits<float>::quiet_NaN());
  job.logits.data.replace(11 * 4000, 4000, FloatBytes(nan));

  const auto result = RunJob(job, **client);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->payload, Payload::kInline);
  const v1::SampleTokensResponse& reply = result->reply;
  EXPECT_THAT(message_rows, ElementsAre(7, 2));
  EXPECT_THAT(positions, ElementsAre(100, 101, 102, 103, 104, 105, 106, 107, 108));
  EXPECT_THAT(reply.token_ids(), ElementsAreArray({19, 3, 3, 7, 8, 9, 10, -1, 12}));
  EXPECT_EQ(reply.seeds_size(), 9);
  ASSERT_EQ(reply.row_errors_size(), 1);
  EXPECT_EQ(reply.row_errors(0).row(), 7);
  ASSERT_EQ(reply.details_size(), 8);
  EXPECT_EQ(reply.details(7).row(), 8);
  EXPECT_EQ(reply.details(7).token_id(), 12);
}

TEST(RunJobTest, AReplyWithAnUnknownRowIsInternal) {
  FakeService service;
  service.answer = [](const v1::SampleTokensRequest&, v1::SampleTokensResponse& response) {
    response.add_details()->set_row(1);
    return grpc::Status::OK;
  };
  const FakeServer server(service, "127.0.0.1:0");
  const auto client = Client::Create({.addresses = {server.address()}});
  EXPECT_TRUE(absl::IsInternal(RunJob(MakeJob(1), **client).status()));
}

}  // namespace
}  // namespace tokendraw::cli
