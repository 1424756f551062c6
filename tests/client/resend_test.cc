// Rows that are not decided by their candidates. The fake server needs the full row where all
// candidates are negative.
#include "client/resend.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "client/candidates.h"
#include "client/client.h"
#include "tests/client/fake_server.h"
#include "tests/client/files.h"

namespace tokendraw {
namespace {

using ::testing::ElementsAre;

constexpr int kRows = 6;
constexpr int kVocab = 4;
constexpr int kStride = 5;
constexpr std::size_t kOffset = 8;

// Rows 1, 2 and 5 need the full row, of which 2 has NaN; row 3 is an error at once.
const std::vector<std::vector<float>> kLogits = [] {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  return std::vector<std::vector<float>>{{3, 2, 1, 0, 99},      {-4, -3, -2, -1, 99},
                                         {-1, -2, -3, nan, 99}, {1, nan, 2, 3, 99},
                                         {0, 1, 9, 3, 99},      {-5, -1, -2, -3, 99}};
}();

v1::SamplingParams MakeParams(const std::string& text) {
  v1::SamplingParams params;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &params)) << text;
  return params;
}

class ResendTest : public testing::Test {
 protected:
  ResendTest() {
    service_.answer = [this](const v1::SampleTokensRequest& request,
                             v1::SampleTokensResponse& response) {
      const std::lock_guard lock(mutex_);
      requests_.push_back(request);
      // As the real service does, another seed each time for a row that has none.
      v1::SampleTokensRequest seeded = request;
      while (seeded.rows_size() < request.logits().row_count()) seeded.add_rows();
      for (v1::RowSpec& row : *seeded.mutable_rows()) {
        if (!row.has_seed()) row.set_seed(next_seed_++);
      }
      response = FakeAnswer(seeded);
      return grpc::Status::OK;
    };
    client_ = *Client::Create({.addresses = {server_.address()}});
    buffer_ = *client_->CreateRowBuffer(kOffset + kRows * kStride * sizeof(float));
    std::byte* to = buffer_->bytes().data() + kOffset;
    for (const auto& row : kLogits) {
      std::memcpy(to, row.data(), kStride * sizeof(float));
      to += kStride * sizeof(float);
    }
    rows_ = {buffer_, kOffset, v1::DATA_TYPE_F32, kStride};
  }

  // With one candidate of rows that are in doubt, so that the NaN of row 2 is not among them.
  v1::SampleTokensRequest Request() const {
    v1::SampleTokensRequest request;
    request.set_step(77);
    request.add_params()->mutable_logprobs();
    request.add_params()->set_mirostat(2);
    request.set_validation(v1::VALIDATION_LENIENT);
    request.set_timeout_ms(5000);
    request.mutable_logits()->set_vocab_size(kVocab);
    request.mutable_logits()->set_row_count(kRows);
    for (const auto& row : kLogits) {
      v1::CandidateRow& candidates = *request.mutable_logits()->mutable_candidates()->add_rows();
      ReduceRow(std::as_bytes(std::span(row)), v1::DATA_TYPE_F32, kVocab, 2, candidates);
    }
    v1::CandidateRow& second = *request.mutable_logits()->mutable_candidates()->mutable_rows(2);
    second.clear_ids();
    second.clear_logits();
    second.add_ids(0);
    second.add_logits(-1);
    return request;
  }

  // Draws and seeds of their own for all rows but 0 and 5, which have no seed.
  static void AddSpecs(v1::SampleTokensRequest& request) {
    for (int row = 0; row < kRows; ++row) {
      v1::RowSpec& spec = *request.add_rows();
      spec.set_params_index(row % 2);
      spec.set_position(1000 + row);
      spec.set_sample_count(row % 4);
      if (row != 0 && row != 5) spec.set_seed(500 + row);
    }
  }

  // What the service says of the whole rows at once, under the seeds of `reply`.
  static v1::SampleTokensResponse AtOnce(v1::SampleTokensRequest request,
                                         const v1::SampleTokensResponse& reply) {
    for (int row = 0; row < kRows; ++row) {
      if (request.rows_size() <= row) request.add_rows();
      request.mutable_rows(row)->set_seed(reply.seeds(row));
    }
    v1::LogitsTensor& logits = *request.mutable_logits();
    logits.set_data_type(v1::DATA_TYPE_F32);
    logits.mutable_inline_()->clear();
    for (std::vector<float> row : kLogits) {
      row.resize(kVocab);
      logits.mutable_inline_()->append(FloatBytes(row));
    }
    v1::SampleTokensResponse response = FakeAnswer(request);
    // How many tokens there were is all that candidates make different.
    for (v1::RowDetail& detail : *response.mutable_details()) {
      if (detail.row() == 0 || detail.row() == 4) detail.set_kept_count(2);
    }
    return response;
  }

  FakeService service_;
  const FakeServer server_{service_, "127.0.0.1:0"};
  std::mutex mutex_;
  std::vector<v1::SampleTokensRequest> requests_;
  std::uint64_t next_seed_ = 100;
  std::unique_ptr<Client> client_;
  std::shared_ptr<RowBuffer> buffer_;
  Rows rows_;
};

TEST_F(ResendTest, TheReplyIsAsIfAllRowsHadBeenDecidedAtOnce) {
  for (const bool specs : {false, true}) {
    v1::SampleTokensRequest request = Request();
    if (specs) AddSpecs(request);
    for (const bool streamed : {false, true}) {
      requests_.clear();
      next_seed_ = 100;
      const auto reply = streamed ? client_->OpenStream()->Step(request, rows_)
                                  : client_->SampleTokens(request, rows_);
      ASSERT_TRUE(reply.ok()) << reply.status();
      EXPECT_EQ(reply->seeds(0), 100u);
      EXPECT_EQ(reply->seeds(1), specs ? 501u : 101u);
      EXPECT_EQ(reply->DebugString(), AtOnce(request, *reply).DebugString());
      EXPECT_EQ(requests_.size(), 3u);  // the candidates; rows 1 and 2; row 5
    }
  }
}

// A new field of the reply is either lost here, or in this test.
TEST_F(ResendTest, NoFieldOfTheReplyIsLost) {
  v1::SampleTokensRequest request = Request();
  AddSpecs(request);
  const auto reply = client_->SampleTokens(request, rows_);
  ASSERT_TRUE(reply.ok()) << reply.status();
  const auto& fields = *v1::SampleTokensResponse::descriptor();
  for (int i = 0; i < fields.field_count(); ++i) {
    if (fields.field(i)->name() == "error") continue;  // of a message that a stream refused
    const bool is_set = fields.field(i)->is_repeated()
                            ? reply->GetReflection()->FieldSize(*reply, fields.field(i)) > 0
                            : reply->GetReflection()->HasField(*reply, fields.field(i));
    EXPECT_TRUE(is_set) << fields.field(i)->name();
  }
}

TEST(WithWholeRowsTest, StatesAreOfTheRowsThatHaveThem) {
  v1::SampleTokensRequest request;
  request.mutable_logits()->set_vocab_size(1);
  request.mutable_logits()->mutable_candidates();
  const std::pair<v1::SamplingParams, bool> sets[] = {
      {MakeParams("mirostat: 1"), true},
      {MakeParams("mirostat: 2 mirostat_tau: 5 mirostat_eta: 0.1"), true},
      {MakeParams("mirostat: 0 mirostat_tau: 5"), false},
      {MakeParams("mirostat: 3"), false},
      {MakeParams("mirostat: 2 mirostat_tau: -1"), false},
      {MakeParams("mirostat: 2 mirostat_eta: inf"), false},
      {MakeParams("adaptive_target: 0"), true},
      {MakeParams("adaptive_target: 1 adaptive_decay: 0.99"), true},
      {MakeParams("adaptive_target: -1"), false},
      {MakeParams("adaptive_target: 0.5 adaptive_decay: 1"), false},
      {MakeParams("top_k: 5"), false},
  };
  v1::SampleTokensResponse reply;
  for (const auto& [params, has_state] : sets) {
    const int row = request.params_size();
    *request.add_params() = params;
    request.add_rows()->set_params_index(row);
    reply.add_seeds(row);
    reply.add_token_ids(0);
    if (has_state) reply.add_sampler_states()->set_mirostat_mu(row);
  }
  request.add_rows();  // the one that is not decided
  reply.add_seeds(0);
  reply.add_token_ids(-1);
  reply.add_row_errors()->set_row(request.params_size());
  reply.mutable_row_errors(0)->set_code(v1::ROW_ERROR_CODE_NEED_FULL_ROW);
  request.mutable_logits()->set_row_count(request.rows_size());
  const Rows rows{*RowBuffer::Create(nullptr, 4 * static_cast<std::size_t>(request.rows_size()))};
  const auto send = [&](const v1::SampleTokensRequest& part, const Rows&) {
    v1::SampleTokensResponse whole;
    whole.add_seeds(part.rows(0).seed());
    whole.add_token_ids(0);
    whole.add_sampler_states()->set_mirostat_mu(100);
    return absl::StatusOr<v1::SampleTokensResponse>(whole);
  };
  const auto all = WithWholeRows(request, rows, reply, send);
  ASSERT_TRUE(all.ok()) << all.status();
  reply.add_sampler_states()->set_mirostat_mu(100);
  reply.clear_row_errors();
  reply.set_token_ids(request.params_size(), 0);
  EXPECT_EQ(all->DebugString(), reply.DebugString());
}

TEST_F(ResendTest, OnlyTheseRowsGoAsTheyWere) {
  v1::SampleTokensRequest request = Request();
  AddSpecs(request);
  ASSERT_TRUE(client_->SampleTokens(request, rows_).ok());
  ASSERT_EQ(requests_.size(), 3u);
  EXPECT_EQ(requests_[0].SerializeAsString(), request.SerializeAsString());
  EXPECT_EQ(buffer_->last_payload(), Payload::kInline);

  v1::SampleTokensRequest want = request;
  want.clear_rows();
  *want.add_rows() = request.rows(1);
  *want.add_rows() = request.rows(2);
  want.mutable_logits()->set_row_count(2);
  want.mutable_logits()->set_row_stride(kStride);
  want.mutable_logits()->set_data_type(v1::DATA_TYPE_F32);
  want.mutable_logits()->set_inline_(FloatBytes(kLogits[1]) + FloatBytes(kLogits[2]));
  EXPECT_EQ(requests_[1].SerializeAsString(), want.SerializeAsString());
  want.clear_rows();
  *want.add_rows() = request.rows(5);
  want.mutable_rows(0)->set_seed(101);  // the second one without a seed
  want.mutable_logits()->set_row_count(1);
  want.mutable_logits()->set_inline_(FloatBytes(kLogits[5]));
  EXPECT_EQ(requests_[2].SerializeAsString(), want.SerializeAsString());
}

TEST_F(ResendTest, MessagesInFlightAreMendedToo) {
  const auto stream = client_->OpenStream();
  const v1::SampleTokensRequest request = Request();
  ASSERT_TRUE(stream->Write(request, rows_).ok());
  ASSERT_TRUE(stream->Write(SmallRequest(78)).ok());
  const auto reply = stream->Read();
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->DebugString(), AtOnce(request, *reply).DebugString());
  EXPECT_EQ(stream->Read()->step(), 78);
  EXPECT_EQ(service_.streams, 1);
}

TEST_F(ResendTest, WithoutRowsTheErrorsAreTheCallers) {
  const auto reply = client_->SampleTokens(Request());
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->row_errors_size(), 4);
  EXPECT_EQ(requests_.size(), 1u);
}

TEST_F(ResendTest, DecidedRowsStayWhereTheyAre) {
  v1::SampleTokensRequest request = Request();
  request.mutable_logits()->set_row_count(1);
  while (request.logits().candidates().rows_size() > 1) {
    request.mutable_logits()->mutable_candidates()->mutable_rows()->RemoveLast();
  }
  const auto reply = client_->SampleTokens(request, rows_);
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_THAT(reply->token_ids(), ElementsAre(0));
  EXPECT_EQ(requests_.size(), 1u);
  EXPECT_EQ(buffer_->last_payload(), Payload::kNone);
}

TEST_F(ResendTest, AnErrorOfTheWholeRowsIsTheCalls) {
  const auto answer = service_.answer;
  service_.answer = [&](const v1::SampleTokensRequest& request,
                        v1::SampleTokensResponse& response) {
    if (!request.logits().has_candidates()) {
      return grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, "full");
    }
    return answer(request, response);
  };
  const absl::Status status = client_->SampleTokens(Request(), rows_).status();
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  const auto stream = client_->OpenStream();
  ASSERT_TRUE(stream->Write(Request(), rows_).ok());
  ASSERT_TRUE(stream->Write(SmallRequest(1)).ok());
  EXPECT_TRUE(absl::IsResourceExhausted(stream->Read().status()));
  EXPECT_EQ(stream->in_flight(), 1u);
}

// Whole rows that need the full row, and replies that do not fit their requests.
TEST(WithWholeRowsTest, StrangeRepliesEndIt) {
  v1::SampleTokensRequest request;
  request.mutable_logits()->set_vocab_size(1);
  request.mutable_logits()->set_row_count(2);
  request.mutable_logits()->mutable_candidates();
  v1::SampleTokensResponse good;
  for (int row = 0; row < 2; ++row) {
    good.add_seeds(row);
    good.add_token_ids(-1);
    good.add_row_errors()->set_row(row);
    good.mutable_row_errors(row)->set_code(v1::ROW_ERROR_CODE_NEED_FULL_ROW);
  }
  const Rows rows{*RowBuffer::Create(nullptr, 8)};
  int sent = 0;
  const auto send = [&](const v1::SampleTokensRequest&, const Rows&) {
    ++sent;
    return absl::StatusOr<v1::SampleTokensResponse>(good);
  };
  const auto again = WithWholeRows(request, rows, good, send);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->DebugString(), good.DebugString());
  EXPECT_EQ(sent, 1);

  const std::function<void(v1::SampleTokensResponse&)> faults[] = {
      [](v1::SampleTokensResponse& reply) { reply.add_seeds(1); },
      [](v1::SampleTokensResponse& reply) { reply.mutable_seeds()->RemoveLast(); },
      [](v1::SampleTokensResponse& reply) { reply.add_token_ids(1); },
      [](v1::SampleTokensResponse& reply) { reply.mutable_token_ids()->RemoveLast(); },
      [](v1::SampleTokensResponse& reply) { reply.mutable_row_errors(1)->set_row(2); },
      [](v1::SampleTokensResponse& reply) { reply.mutable_row_errors(1)->set_row(-1); },
      [](v1::SampleTokensResponse& reply) { reply.add_details()->set_row(2); },
      [](v1::SampleTokensResponse& reply) { reply.add_sampler_states(); },
  };
  for (const auto& fault : faults) {
    v1::SampleTokensResponse bad = good;
    fault(bad);
    EXPECT_TRUE(absl::IsInternal(WithWholeRows(request, rows, bad, send).status()));
    const auto send_bad = [&](const v1::SampleTokensRequest&, const Rows&) {
      return absl::StatusOr<v1::SampleTokensResponse>(bad);
    };
    EXPECT_TRUE(absl::IsInternal(WithWholeRows(request, rows, good, send_bad).status()));
  }
  request.add_rows();
  EXPECT_TRUE(absl::IsInternal(WithWholeRows(request, rows, good, send).status()));
}

}  // namespace
}  // namespace tokendraw
