#include "client/cli/sample_job.h"

#include <algorithm>
#include <cstring>
#include <memory>

namespace tokendraw::cli {
namespace {

constexpr std::int64_t kMostRows = 16;
constexpr std::int64_t kGrpcMessageBytes = 4 * 1024 * 1024;

// gRPC's own limit stands for a server that does not tell.
absl::StatusOr<v1::GetServerInfoResponse> Limits(Client& client) {
  absl::StatusOr<v1::GetServerInfoResponse> info = client.GetServerInfo();
  if (absl::IsUnimplemented(info.status())) return v1::GetServerInfoResponse();
  return info;
}

std::size_t RowBytes(const SampleJob& job) {
  return static_cast<std::size_t>(job.logits.vocab_size) * ElementBytes(job.logits.type);
}

// From rows of one message to indices of job.rows. False if one is not a row of the message.
template <typename RowMessage>
bool Renumber(std::size_t first, std::size_t count,
              google::protobuf::RepeatedPtrField<RowMessage>& messages) {
  for (RowMessage& message : messages) {
    if (message.row() < 0 || static_cast<std::size_t>(message.row()) >= count) return false;
    message.set_row(message.row() + static_cast<std::int32_t>(first));
  }
  return true;
}

}  // namespace

std::size_t RowsPerMessage(const SampleJob& job, const v1::GetServerInfoResponse& limits) {
  std::int64_t rows = kMostRows;
  if (limits.max_rows() > 0) rows = std::min<std::int64_t>(rows, limits.max_rows());
  if (limits.max_draws() > 0) {
    const int draws = std::max(job.first_row.sample_count(), 1);
    rows = std::min<std::int64_t>(rows, limits.max_draws() / draws);
  }
  const std::int64_t bytes =
      limits.max_message_bytes() > 0 ? limits.max_message_bytes() : kGrpcMessageBytes;
  // All but the tensor is small, save for a long history; 64 covers the tags and lengths.
  const auto fixed = static_cast<std::int64_t>(job.params.ByteSizeLong()) + 64;
  const auto row =
      job.logits.vocab_size * static_cast<std::int64_t>(ElementBytes(job.logits.type)) +
      static_cast<std::int64_t>(job.first_row.ByteSizeLong()) + 64;
  rows = std::min(rows, (bytes - fixed) / row);
  return static_cast<std::size_t>(std::max<std::int64_t>(rows, 1));
}

v1::SampleTokensRequest MakeRequest(const SampleJob& job, std::size_t first, std::size_t count,
                                    std::span<std::byte> rows) {
  const std::size_t row_bytes = RowBytes(job);
  v1::SampleTokensRequest request;
  request.set_validation(job.validation);
  *request.add_params() = job.params;
  for (std::size_t i = 0; i < count; ++i) {
    std::memcpy(rows.data() + i * row_bytes,
                job.logits.data.data() + static_cast<std::size_t>(job.rows[first + i]) * row_bytes,
                row_bytes);
    v1::RowSpec& row = *request.add_rows();
    row = job.first_row;
    row.set_position(job.first_row.position() + static_cast<std::int64_t>(first + i));
  }
  request.mutable_logits()->set_data_type(job.logits.type);
  request.mutable_logits()->set_vocab_size(job.logits.vocab_size);
  request.mutable_logits()->set_row_count(static_cast<std::int32_t>(count));
  return request;
}

absl::StatusOr<SampleResult> RunJob(const SampleJob& job, Client& client) {
  const absl::StatusOr<v1::GetServerInfoResponse> limits = Limits(client);
  if (!limits.ok()) return limits.status();
  const std::size_t most = std::min(RowsPerMessage(job, *limits), job.rows.size());
  const absl::StatusOr<std::shared_ptr<RowBuffer>> buffer =
      client.CreateRowBuffer(most * RowBytes(job));
  if (!buffer.ok()) return buffer.status();
  SampleResult result;
  for (std::size_t first = 0; first < job.rows.size(); first += most) {
    const std::size_t count = std::min(most, job.rows.size() - first);
    absl::StatusOr<v1::SampleTokensResponse> reply =
        client.SampleTokens(MakeRequest(job, first, count, (*buffer)->bytes()), {*buffer});
    if (!reply.ok()) return reply.status();
    if (!Renumber(first, count, *reply->mutable_details()) ||
        !Renumber(first, count, *reply->mutable_row_errors())) {
      return absl::InternalError("the reply names a row that the request does not have");
    }
    result.reply.MergeFrom(*reply);
  }
  result.payload = (*buffer)->last_payload();
  return result;
}

}  // namespace tokendraw::cli
