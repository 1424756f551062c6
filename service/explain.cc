#include "service/explain.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "sampling/explain.h"
#include "service/convert.h"
#include "service/respond.h"

namespace tokendraw {
namespace {

constexpr int32_t kDefaultTopTokens = 20;
constexpr int32_t kMostTopTokens = 1000;

// Fills `batch` with the one row, whose bytes stay in `received`.
void Convert(const v1::ExplainRowRequest& request, const ReceivedRequest& received,
             SharedMemory* shared_memory, Batch& batch, Violations& violations) {
  const v1::LogitsTensor& logits = request.logits();
  batch.vocab_size = logits.vocab_size();
  batch.params.resize(1);
  batch.rows.resize(1);
  ConvertParams(request.params(), "params", request.validation(),
                logits.vocab_size() < 1 ? std::numeric_limits<int32_t>::max() : batch.vocab_size,
                batch.params[0], violations);
  if (!CheckShape(logits, violations)) return;
  if (logits.vocab_size() > kMostExplainedVocab) {
    return violations.Add("logits.vocab_size",
                          absl::StrCat("rows of at most ", kMostExplainedVocab,
                                       " tokens are explained, got ", logits.vocab_size()));
  }
  if (logits.row_count() != 1) violations.Add("logits.row_count", "row_count must be 1");
  if (logits.has_candidates()) {
    violations.Add("logits.candidates", "a row is explained from all of its logits");
  } else {
    ConvertTensor(received, shared_memory, batch, violations);
  }
  ConvertRow(request.row(), "row", batch, batch.rows[0], violations);
}

v1::Filter ToProto(sampling::Filter filter) {
  return static_cast<v1::Filter>(static_cast<int>(filter) + v1::FILTER_TOP_N_SIGMA);
}

void FillStage(const sampling::Stage& from, v1::ExplainedStage& to) {
  if (from.filter) to.set_filter(ToProto(*from.filter));
  to.set_before(from.before);
  to.set_after(from.after);
  to.set_mass_removed(from.mass_removed);
  to.set_entropy_before(from.entropy_before);
  to.set_entropy_after(from.entropy_after);
  if (from.threshold) to.set_threshold(*from.threshold);
  if (from.next) to.set_next(*from.next);
  if (from.temperature) to.set_temperature(*from.temperature);
}

void FillToken(const sampling::ExplainedToken& from, v1::ExplainedToken& to) {
  to.set_token_id(from.id);
  to.set_logit(from.logit);
  if (from.edited_logit) to.set_edited_logit(*from.edited_logit);
  to.mutable_probabilities()->Add(from.probabilities.begin(), from.probabilities.end());
  if (from.removed_by) to.set_removed_by(*from.removed_by);
  to.set_noise(from.noise);
}

void Fill(const sampling::Explanation& from, bool has_state, v1::ExplainRowResponse& to) {
  to.set_token_id(from.token_id);
  if (from.error.code != sampling::RowErrorCode::kNone) {
    return FillRowError(from.error, 0, *to.mutable_row_error());
  }
  to.set_greedy(from.greedy);
  for (const sampling::Stage& stage : from.stages) FillStage(stage, *to.add_stages());
  if (from.coin) {
    to.mutable_xtc_coin()->set_u(from.coin->u);
    to.mutable_xtc_coin()->set_acts(from.coin->acts);
    to.mutable_xtc_coin()->set_applied(from.coin->applied);
  }
  for (const sampling::ExplainedToken& token : from.tokens) FillToken(token, *to.add_tokens());
  if (has_state) FillState(from.state, *to.mutable_sampler_state());
}

}  // namespace

absl::Status ExplainRow(const v1::ExplainRowRequest& request, SharedMemory* shared_memory,
                        v1::ExplainRowResponse& response) {
  if (shared_memory == nullptr && UsesSharedMemory(request.logits())) {
    return absl::UnimplementedError("logits.shared_memory: this server runs without --shm_dir");
  }
  Violations violations;
  FindUnknownFields(request, "", violations);
  CheckValidation(request.validation(), violations);
  if (request.sample_index() < 0 || request.sample_index() >= sampling::kMaxSampleCount) {
    violations.Add("sample_index",
                   absl::StrCat("sample_index must be in [0, ", sampling::kMaxSampleCount, ")"));
  }
  if (request.top_tokens() < 0 || request.top_tokens() > kMostTopTokens) {
    violations.Add("top_tokens", absl::StrCat("top_tokens must be in [0, ", kMostTopTokens, "]"));
  }
  v1::SampleTokensRequest as_batch;
  *as_batch.mutable_logits() = request.logits();
  ReceivedRequest received;
  received.Take(std::move(as_batch));
  Batch batch;
  Convert(request, received, shared_memory, batch, violations);
  if (violations.count() > 0) return violations.ToStatus();

  sampling::RowInput& row = batch.rows[0].input;
  response.set_semantics_version(sampling::kSemanticsVersion);
  response.set_seed(row.key.seed);
  RowRoom room;
  row.logits = {
      .type = batch.data_type, .vocab_size = batch.vocab_size, .pieces = batch.tensor.Row(0, room)};
  if (row.logits.pieces.empty()) {
    Fill({.error = {.code = sampling::RowErrorCode::kUnreadable}}, false, response);
    return absl::OkStatus();
  }
  const int top = request.top_tokens() == 0 ? kDefaultTopTokens : request.top_tokens();
  Fill(sampling::ExplainRow(batch.params[0], row, request.sample_index(), top),
       batch.params[0].HasState(), response);
  return absl::OkStatus();
}

}  // namespace tokendraw
