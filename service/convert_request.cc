#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "service/convert.h"

namespace tokendraw {

void CheckValidation(v1::Validation value, Violations& violations) {
  if (!v1::Validation_IsValid(value)) {
    violations.Add("validation", absl::StrCat("unknown validation ", value));
  }
}

absl::StatusOr<Batch> ConvertRequest(const ReceivedRequest& received, const MessageLimits& limits,
                                     SharedMemory* shared_memory) {
  const v1::SampleTokensRequest& request = received.message();
  const v1::LogitsTensor& logits = request.logits();
  if (shared_memory == nullptr && UsesSharedMemory(logits)) {
    return absl::UnimplementedError("logits.shared_memory: this server runs without --shm_dir");
  }
  if (logits.row_count() > limits.max_rows) {
    return absl::ResourceExhaustedError(absl::StrCat("logits.row_count: ", logits.row_count(),
                                                     " is over max_rows ", limits.max_rows));
  }
  Violations violations;
  FindUnknownFields(request, "", violations);
  CheckValidation(request.validation(), violations);
  if (request.timeout_ms() < 0) violations.Add("timeout_ms", "timeout_ms must be >= 0");

  const int32_t vocab_size = logits.vocab_size();
  const int32_t id_limit = vocab_size < 1 ? std::numeric_limits<int32_t>::max() : vocab_size;
  Batch batch;
  batch.params.resize(std::max(request.params_size(), 1));
  for (int i = 0; i < request.params_size(); ++i) {
    ConvertParams(request.params(i), absl::StrCat("params[", i, "]"), request.validation(),
                  id_limit, batch.params[i], violations);
  }
  // What follows multiplies with the shape.
  if (!CheckShape(logits, violations)) return violations.ToStatus();
  batch.vocab_size = vocab_size;
  batch.rows.resize(logits.row_count());
  if (logits.has_candidates()) {
    ConvertCandidates(logits, batch, violations);
  } else if (const int64_t bytes = ConvertTensor(received, shared_memory, batch, violations);
             bytes > limits.max_shared_bytes) {
    return absl::ResourceExhaustedError(absl::StrCat("logits.shared_memory: ", bytes,
                                                     " bytes are over max_queued_bytes ",
                                                     limits.max_shared_bytes));
  }
  if (request.rows_size() != 0 && request.rows_size() != logits.row_count()) {
    violations.Add("rows", absl::StrCat("expected 0 or row_count ", logits.row_count(),
                                        " rows, got ", request.rows_size()));
  }
  batch.token_counts.reserve(logits.row_count());
  int64_t draws = 0;
  for (int32_t i = 0; i < logits.row_count(); ++i) {
    const bool named = i < request.rows_size();
    ConvertRow(named ? request.rows(i) : v1::RowSpec::default_instance(),
               absl::StrCat("rows[", i, "]"), batch, batch.rows[i], violations);
    draws += batch.rows[i].input.sample_count;
  }
  if (violations.count() > 0) return violations.ToStatus();
  if (draws > limits.max_draws) {
    return absl::ResourceExhaustedError(
        absl::StrCat("rows: ", draws, " draws are over max_draws ", limits.max_draws));
  }
  return batch;
}

}  // namespace tokendraw
