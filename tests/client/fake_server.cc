#include "tests/client/fake_server.h"

#include <stdlib.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <span>
#include <vector>

namespace tokendraw {
namespace {

void AnswerRow(const v1::SampleTokensRequest& request, int index, std::span<const float> row,
               v1::SampleTokensResponse& response) {
  const v1::RowSpec spec = index < request.rows_size() ? request.rows(index) : v1::RowSpec();
  const auto nan = std::find_if(row.begin(), row.end(), [](float x) { return std::isnan(x); });
  const auto token = static_cast<int>(std::max_element(row.begin(), row.end()) - row.begin());
  response.add_seeds(spec.has_seed() ? spec.seed() : kFakeSeed);
  if (nan != row.end()) {
    v1::RowError& error = *response.add_row_errors();
    error.set_row(index);
    error.set_code(v1::ROW_ERROR_CODE_NOT_FINITE);
    error.set_message("not finite");
    error.set_token_id(static_cast<int>(nan - row.begin()));
  }
  for (int draw = 0; draw < std::max(spec.sample_count(), 1); ++draw) {
    response.add_token_ids(nan == row.end() ? token : -1);
    if (nan != row.end() || request.params_size() == 0 || !request.params(0).has_logprobs()) {
      continue;
    }
    v1::RowDetail& detail = *response.add_details();
    detail.set_row(index);
    detail.set_sample_index(draw);
    detail.set_token_id(token);
    detail.set_logprob(-0.25f);
    detail.set_kept_count(static_cast<int>(row.size()));
    detail.set_xtc_applied(request.params(0).xtc_probability() > 0);
    detail.set_greedy(request.params(0).top_k() == 1);
    if (request.params(0).logprobs().top_count() > 0) {
      v1::TokenLogprob& top = *detail.add_top_logprobs();
      top.set_token_id(token);
      top.set_logprob(-0.25f);
    }
  }
}

}  // namespace

v1::SampleTokensResponse FakeAnswer(const v1::SampleTokensRequest& request) {
  v1::SampleTokensResponse response;
  response.set_step(request.step());
  response.set_semantics_version("1");
  std::vector<float> values(request.logits().inline_().size() / sizeof(float));
  std::memcpy(values.data(), request.logits().inline_().data(), values.size() * sizeof(float));
  const auto vocab_size = static_cast<std::size_t>(request.logits().vocab_size());
  for (int row = 0; row < request.logits().row_count(); ++row) {
    AnswerRow(request, row, std::span(values).subspan(row * vocab_size, vocab_size), response);
  }
  return response;
}

v1::SampleTokensRequest SmallRequest(std::int64_t step) {
  const float row[] = {0, 1, 0};
  v1::SampleTokensRequest request;
  request.set_step(step);
  request.mutable_logits()->set_data_type(v1::DATA_TYPE_F32);
  request.mutable_logits()->set_vocab_size(3);
  request.mutable_logits()->set_row_count(1);
  request.mutable_logits()->set_inline_(row, sizeof(row));
  return request;
}

FakeService::FakeService() {
  info.set_version("fake");
  info.set_semantics_version("1");
  info.set_max_message_bytes(64 << 20);
  info.set_max_rows(4096);
  info.set_max_draws(65536);
  info.set_max_in_flight(2);
  answer = [](const v1::SampleTokensRequest& request, v1::SampleTokensResponse& response) {
    response = FakeAnswer(request);
    return grpc::Status::OK;
  };
}

grpc::Status FakeService::SampleTokens(grpc::ServerContext*, const v1::SampleTokensRequest* request,
                                       v1::SampleTokensResponse* response) {
  ++calls;
  return answer(*request, *response);
}

grpc::Status FakeService::StreamSampleTokens(
    grpc::ServerContext*,
    grpc::ServerReaderWriter<v1::SampleTokensResponse, v1::SampleTokensRequest>* stream) {
  ++streams;
  v1::SampleTokensRequest request;
  for (int answered = 0; stream->Read(&request);) {
    ++messages;
    v1::SampleTokensResponse response;
    if (grpc::Status status = answer(request, response); !status.ok()) return status;
    stream->Write(response);
    if (++answered == stream_messages) return stream_end;
  }
  return grpc::Status::OK;
}

grpc::Status FakeService::ValidateParams(grpc::ServerContext*, const v1::ValidateParamsRequest*,
                                         v1::ValidateParamsResponse* response) {
  *response = violations;
  return grpc::Status::OK;
}

grpc::Status FakeService::GetServerInfo(grpc::ServerContext*, const v1::GetServerInfoRequest*,
                                        v1::GetServerInfoResponse* response) {
  *response = info;
  return info_status;
}

FakeServer::FakeServer(FakeService& service, const std::string& address) : address_(address) {
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort(address, grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&service);
  builder.SetMaxMessageSize(64 << 20);
  server_ = builder.BuildAndStart();
  if (address.ends_with(":0")) address_ = "127.0.0.1:" + std::to_string(port);
}

// Cancels what runs, so that no handler holds the test.
FakeServer::~FakeServer() { server_->Shutdown(std::chrono::system_clock::now()); }

TempDir::TempDir() {
  std::string name = (std::filesystem::temp_directory_path() / "tokendraw.XXXXXX").string();
  path_ = mkdtemp(name.data());
}

TempDir::~TempDir() { std::filesystem::remove_all(path_); }

}  // namespace tokendraw
