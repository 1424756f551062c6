#include "service/respond.h"

#include "absl/strings/str_cat.h"

namespace tokendraw {
namespace {

v1::RowErrorCode ToRowErrorCode(sampling::RowErrorCode code) {
  switch (code) {
    case sampling::RowErrorCode::kNotFinite:
      return v1::ROW_ERROR_CODE_NOT_FINITE;
    case sampling::RowErrorCode::kNoCandidate:
      return v1::ROW_ERROR_CODE_NO_CANDIDATE;
    case sampling::RowErrorCode::kNeedFullRow:
      return v1::ROW_ERROR_CODE_NEED_FULL_ROW;
    case sampling::RowErrorCode::kBadSummary:
      return v1::ROW_ERROR_CODE_BAD_SUMMARY;
    case sampling::RowErrorCode::kUnreadable:
      return v1::ROW_ERROR_CODE_UNREADABLE;
    case sampling::RowErrorCode::kNone:
      break;
  }
  return v1::ROW_ERROR_CODE_UNSPECIFIED;
}

std::string ErrorText(const sampling::RowError& error) {
  switch (error.code) {
    case sampling::RowErrorCode::kNotFinite:
      if (error.token < 0) return absl::StrCat(error.field, " is NaN or infinite");
      return absl::StrCat("the logit of token ", error.token,
                          " is NaN or +inf, as it came or after bias and penalties");
    case sampling::RowErrorCode::kNoCandidate:
      return "no legal token: every token is masked";
    case sampling::RowErrorCode::kNeedFullRow:
      return "the candidates and their summary cannot decide the chain; send the full row";
    case sampling::RowErrorCode::kBadSummary:
      return absl::StrCat(error.field, " is not what the candidates say");
    case sampling::RowErrorCode::kUnreadable:
      return "the file in shared memory was cut short before the row was read";
    case sampling::RowErrorCode::kNone:
      break;
  }
  return "";
}

void FillLogprobs(std::span<const sampling::TokenLogprob> from,
                  google::protobuf::RepeatedPtrField<v1::TokenLogprob>& to) {
  for (const sampling::TokenLogprob& entry : from) {
    v1::TokenLogprob& added = *to.Add();
    added.set_token_id(entry.token_id);
    added.set_logprob(entry.logprob);
  }
}

void FillDetail(const sampling::Draw& draw, v1::RowDetail& detail) {
  detail.set_token_id(draw.token_id);
  detail.set_logprob(draw.logprob);
  FillLogprobs(draw.top_logprobs, *detail.mutable_top_logprobs());
  FillLogprobs(draw.requested_logprobs, *detail.mutable_requested_logprobs());
  detail.set_kept_count(draw.kept_count);
  detail.mutable_kept_ids()->Add(draw.kept_ids.begin(), draw.kept_ids.end());
  detail.set_kept_mass(draw.kept_mass);
  detail.set_xtc_applied(draw.xtc_applied);
  detail.set_greedy(draw.greedy);
}

}  // namespace

void FillRowError(const sampling::RowError& from, int32_t row, v1::RowError& to) {
  to.set_row(row);
  to.set_code(ToRowErrorCode(from.code));
  to.set_message(ErrorText(from));
  to.set_token_id(from.token);
}

void FillState(const sampling::SamplerState& from, v1::SamplerState& to) {
  if (from.mirostat_mu) to.set_mirostat_mu(*from.mirostat_mu);
  if (from.adaptive_sum) to.set_adaptive_sum(*from.adaptive_sum);
  if (from.adaptive_weight) to.set_adaptive_weight(*from.adaptive_weight);
}

void FillResponse(const Batch& batch, std::span<const sampling::RowResult> results,
                  v1::SampleTokensResponse& response) {
  for (size_t row = 0; row < results.size(); ++row) {
    const BatchRow& asked = batch.rows[row];
    const sampling::RowResult& result = results[row];
    response.add_seeds(asked.input.key.seed);
    if (result.error != sampling::RowErrorCode::kNone) {
      FillRowError({result.error, result.error_token, result.error_field},
                   static_cast<int32_t>(row), *response.add_row_errors());
      for (int32_t i = 0; i < asked.input.sample_count; ++i) response.add_token_ids(-1);
      continue;
    }
    const sampling::Params& params = batch.params[asked.params_index];
    const bool wants_detail = params.WantsDetail();
    for (size_t i = 0; i < result.draws.size(); ++i) {
      response.add_token_ids(result.draws[i].token_id);
      if (params.HasState()) FillState(result.draws[i].state, *response.add_sampler_states());
      if (!wants_detail) continue;
      v1::RowDetail& detail = *response.add_details();
      detail.set_row(static_cast<int32_t>(row));
      detail.set_sample_index(static_cast<int32_t>(i));
      FillDetail(result.draws[i], detail);
    }
  }
}

}  // namespace tokendraw
