#include "client/resend.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "client/tensor.h"

namespace tokendraw {
namespace {

using Request = v1::SampleTokensRequest;
using Response = v1::SampleTokensResponse;

absl::Status Misfit() {
  return absl::InternalError("the reply does not have the rows of the request");
}

bool NeedsFullRow(const Response& reply) {
  return std::any_of(
      reply.row_errors().begin(), reply.row_errors().end(),
      [](const v1::RowError& error) { return error.code() == v1::ROW_ERROR_CODE_NEED_FULL_ROW; });
}

// Puts errors or details to the replies of their rows. False if one has no row.
template <typename OfRow, typename AddTo>
bool Distribute(const google::protobuf::RepeatedPtrField<OfRow>& from, const AddTo& add_to,
                std::vector<Response>& rows) {
  for (const OfRow& entry : from) {
    if (static_cast<std::size_t>(entry.row()) >= rows.size()) return false;  // negative: huge
    *add_to(rows[entry.row()]) = entry;
  }
  return true;
}

// Whether each draw of a row with these parameters has a state (params.proto). What is out of its
// range is off, or there would be no reply.
bool HasState(const v1::SamplingParams& params) {
  const auto is_length = [](double value) { return value >= 0 && std::isfinite(value); };
  const bool mirostat = (params.mirostat() == 1 || params.mirostat() == 2) &&
                        is_length(params.mirostat_tau()) && is_length(params.mirostat_eta());
  const bool adaptive = params.has_adaptive_target() && params.adaptive_target() >= 0 &&
                        params.adaptive_target() <= 1 && params.adaptive_decay() >= 0 &&
                        params.adaptive_decay() <= 0.99;
  return mirostat || adaptive;
}

// Gives the rows, whose errors and tokens are there, their states. False if there are more or
// fewer.
bool DistributeStates(const Request& request, const Response& reply, std::vector<Response>& rows) {
  int state = 0;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const int set = request.rows().empty() ? 0 : request.rows(row).params_index();
    if (set >= request.params_size() || !HasState(request.params(set))) continue;
    if (!rows[row].row_errors().empty()) continue;
    for (int draw = 0; draw < rows[row].token_ids_size(); ++draw) {
      if (state == reply.sampler_states_size()) return false;
      *rows[row].add_sampler_states() = reply.sampler_states(state++);
    }
  }
  return state == reply.sampler_states_size();
}

// One reply for each row. Nothing if `reply` does not have the rows of `request`.
std::optional<std::vector<Response>> Split(const Request& request, const Response& reply) {
  const int row_count = request.logits().row_count();
  if (reply.seeds_size() != row_count) return std::nullopt;
  if (!request.rows().empty() && request.rows_size() != row_count) return std::nullopt;
  std::vector<Response> rows(row_count);
  int token = 0;
  for (int row = 0; row < row_count; ++row) {
    rows[row].add_seeds(reply.seeds(row));
    const int asked = request.rows().empty() ? 1 : request.rows(row).sample_count();
    for (int draw = 0; draw < std::max(asked, 1); ++draw) {
      if (token == reply.token_ids_size()) return std::nullopt;
      rows[row].add_token_ids(reply.token_ids(token++));
    }
  }
  const auto add_error = [](Response& row) { return row.add_row_errors(); };
  const auto add_detail = [](Response& row) { return row.add_details(); };
  if (token != reply.token_ids_size() || !Distribute(reply.row_errors(), add_error, rows) ||
      !Distribute(reply.details(), add_detail, rows) || !DistributeStates(request, reply, rows)) {
    return std::nullopt;
  }
  return rows;
}

// The opposite.
Response Join(std::vector<Response> rows) {
  Response all;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const auto number = static_cast<std::int32_t>(row);
    for (v1::RowError& error : *rows[row].mutable_row_errors()) error.set_row(number);
    for (v1::RowDetail& detail : *rows[row].mutable_details()) detail.set_row(number);
    all.MergeFrom(rows[row]);
  }
  return all;
}

// Rows `first` to `end - 1` of `request`, with the seeds of `reply` and the shape of `rows`.
Request Part(const Request& request, const Rows& rows, const Response& reply, int first, int end) {
  Request part;
  part.set_step(request.step());
  *part.mutable_params() = request.params();
  part.set_validation(request.validation());
  part.set_timeout_ms(request.timeout_ms());
  for (int row = first; row < end; ++row) {
    v1::RowSpec& spec = *part.add_rows();
    if (!request.rows().empty()) spec = request.rows(row);
    spec.set_seed(reply.seeds(row));
  }
  part.mutable_logits()->set_vocab_size(request.logits().vocab_size());
  part.mutable_logits()->set_row_count(end - first);
  part.mutable_logits()->set_row_stride(rows.row_stride);
  part.mutable_logits()->set_data_type(rows.data_type);
  return part;
}

}  // namespace

absl::StatusOr<Response> WithWholeRows(const Request& request, const Rows& rows, Response reply,
                                       const SendRows& send) {
  if (rows.buffer == nullptr || !request.logits().has_candidates() || !NeedsFullRow(reply)) {
    return reply;
  }
  std::optional<std::vector<Response>> answers = Split(request, reply);
  if (!answers) return Misfit();
  const std::size_t row_bytes =
      static_cast<std::size_t>(ElementBytes(rows.data_type)) *
      (rows.row_stride != 0 ? rows.row_stride : request.logits().vocab_size());
  for (auto end = answers->begin();;) {
    const auto first = std::find_if(end, answers->end(), NeedsFullRow);
    if (first == answers->end()) break;
    end = std::find_if_not(first, answers->end(), NeedsFullRow);
    const auto row = static_cast<int>(first - answers->begin());
    const Request part = Part(request, rows, reply, row, row + static_cast<int>(end - first));
    const absl::StatusOr<Response> whole = send(part, {rows.buffer, rows.offset + row * row_bytes});
    if (!whole.ok()) return whole.status();
    std::optional<std::vector<Response>> parts = Split(part, *whole);
    if (!parts) return Misfit();
    std::move(parts->begin(), parts->end(), first);
  }
  Response all = Join(*std::move(answers));
  all.set_step(reply.step());
  all.set_semantics_version(reply.semantics_version());
  return all;
}

}  // namespace tokendraw
