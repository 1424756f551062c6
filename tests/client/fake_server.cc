#include "tests/client/fake_server.h"

#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <fstream>
#include <numeric>
#include <vector>

namespace tokendraw {
namespace {

struct Row {
  std::vector<float> logits;
  std::vector<std::int32_t> ids;  // of the logits
};

std::vector<Row> RowsOf(const v1::LogitsTensor& logits) {
  std::vector<Row> rows;
  for (const v1::CandidateRow& row : logits.candidates().rows()) {
    rows.push_back(
        {{row.logits().begin(), row.logits().end()}, {row.ids().begin(), row.ids().end()}});
  }
  if (logits.has_candidates()) return rows;
  const std::size_t vocab_size = logits.vocab_size();
  const std::size_t stride = logits.row_stride() > 0 ? logits.row_stride() : vocab_size;
  for (std::size_t row = 0; row < static_cast<std::size_t>(logits.row_count()); ++row) {
    rows.push_back({std::vector<float>(vocab_size), std::vector<std::int32_t>(vocab_size)});
    std::memcpy(rows.back().logits.data(), logits.inline_().data() + row * stride * sizeof(float),
                vocab_size * sizeof(float));
    std::iota(rows.back().ids.begin(), rows.back().ids.end(), 0);
  }
  return rows;
}

void AddError(int row, v1::RowErrorCode code, const char* message, int token_id,
              v1::SampleTokensResponse& response) {
  v1::RowError& error = *response.add_row_errors();
  error.set_row(row);
  error.set_code(code);
  error.set_message(message);
  error.set_token_id(token_id);
}

void AnswerRow(const v1::SampleTokensRequest& request, int index, const Row& row,
               v1::SampleTokensResponse& response) {
  const v1::RowSpec spec = index < request.rows_size() ? request.rows(index) : v1::RowSpec();
  const auto nan =
      std::find_if(row.logits.begin(), row.logits.end(), [](float x) { return std::isnan(x); });
  const auto largest = std::max_element(row.logits.begin(), row.logits.end());
  const int token = row.ids[largest - row.logits.begin()];
  response.add_seeds(spec.has_seed() ? spec.seed() : kFakeSeed);
  bool decided = false;
  if (nan != row.logits.end()) {
    AddError(index, v1::ROW_ERROR_CODE_NOT_FINITE, "not finite", row.ids[nan - row.logits.begin()],
             response);
  } else if (request.logits().has_candidates() && *largest < 0) {
    AddError(index, v1::ROW_ERROR_CODE_NEED_FULL_ROW, "full row", -1, response);
  } else {
    decided = true;
  }
  for (int draw = 0; draw < std::max(spec.sample_count(), 1); ++draw) {
    response.add_token_ids(decided ? token : -1);
    if (decided && spec.params_index() < request.params_size() &&
        request.params(spec.params_index()).mirostat() > 0) {
      // Another one for each draw of each position.
      response.add_sampler_states()->set_mirostat_mu(static_cast<double>(spec.position()) + draw);
    }
    if (!decided || request.params_size() == 0 || !request.params(0).has_logprobs()) continue;
    v1::RowDetail& detail = *response.add_details();
    detail.set_row(index);
    detail.set_sample_index(draw);
    detail.set_token_id(token);
    detail.set_logprob(-0.25f);
    detail.set_kept_count(static_cast<int>(row.logits.size()));
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
  const std::vector<Row> rows = RowsOf(request.logits());
  for (std::size_t row = 0; row < rows.size(); ++row) {
    AnswerRow(request, static_cast<int>(row), rows[row], response);
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

grpc::Status FakeService::SampleTokens(grpc::ServerContext* context,
                                       const v1::SampleTokensRequest* request,
                                       v1::SampleTokensResponse* response) {
  ++calls;
  const grpc::Status status = Answer(*request, *response);
  if (status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED && retry_after_ms > 0) {
    context->AddTrailingMetadata("grpc-retry-pushback-ms", std::to_string(retry_after_ms));
  }
  return status;
}

grpc::Status FakeService::Answer(const v1::SampleTokensRequest& request,
                                 v1::SampleTokensResponse& response) {
  if (!request.logits().has_shared_memory()) return answer(request, response);
  ++shared;
  if (shm_dir.empty()) {
    return grpc::Status(grpc::StatusCode::UNIMPLEMENTED, "logits.shared_memory: no --shm_dir");
  }
  const v1::SharedMemory& place = request.logits().shared_memory();
  std::ifstream file(std::filesystem::path(shm_dir) / place.name(), std::ios::binary);
  if (!file) {
    return grpc::Status(grpc::StatusCode::INVALID_ARGUMENT,
                        "logits.shared_memory.name: cannot open the file");
  }
  v1::SampleTokensRequest resolved = request;
  v1::LogitsTensor& logits = *resolved.mutable_logits();
  const int stride = logits.row_stride() > 0 ? logits.row_stride() : logits.vocab_size();
  logits.mutable_inline_()->resize(sizeof(float) * logits.row_count() * stride);
  file.seekg(place.offset());
  file.read(logits.mutable_inline_()->data(),
            static_cast<std::streamsize>(logits.inline_().size()));
  return answer(resolved, response);
}

grpc::Status FakeService::StreamSampleTokens(
    grpc::ServerContext*,
    grpc::ServerReaderWriter<v1::SampleTokensResponse, v1::SampleTokensRequest>* stream) {
  ++streams;
  v1::SampleTokensRequest request;
  for (int answered = 0; stream->Read(&request);) {
    ++messages;
    v1::SampleTokensResponse response;
    grpc::Status status = Answer(request, response);
    if (request.logits().has_shared_memory() && !status.ok()) {
      response.mutable_error()->set_code(status.error_code());
      response.mutable_error()->set_message(status.error_message());
      status = grpc::Status::OK;
    }
    if (!status.ok()) return status;
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
  ++infos;
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

std::filesystem::path MemoryFileSystem() {
  return access("/dev/shm", W_OK) == 0 ? "/dev/shm" : std::filesystem::temp_directory_path();
}

TempDir::TempDir(const std::filesystem::path& parent) {
  std::string name = (parent / "tokendraw.XXXXXX").string();
  path_ = mkdtemp(name.data());
}

TempDir::~TempDir() { std::filesystem::remove_all(path_); }

}  // namespace tokendraw
