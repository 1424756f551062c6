#include "service/sample_job.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "service/respond.h"

namespace tokendraw {

SampleJob::SampleJob(SampleJobContext context, Batch batch, QueueBudget::Share share)
    : context_(std::move(context)),
      batch_(std::move(batch)),
      queued_(Clock::now()),
      share_(std::move(share)),
      results_(batch_.rows.size()) {}

bool SampleJob::IsSmall() const {
  constexpr int64_t kFewTokens = 1 << 18;
  constexpr int64_t kFewDraws = 64;
  int64_t tokens = 0, draws = 0;
  for (const BatchRow& row : batch_.rows) {
    const auto& candidates = row.input.candidates;
    tokens += candidates ? static_cast<int64_t>(candidates->ids.size()) : batch_.vocab_size;
    draws += row.input.sample_count;
  }
  return tokens <= kFewTokens && draws <= kFewDraws;
}

bool SampleJob::Wanted() {
  const Clock::time_point now = Clock::now();
  if (!std::exchange(started_, true)) {
    const absl::Duration waited = absl::FromChrono(now - queued_);
    context_.metrics->queue_wait_ns += absl::ToInt64Nanoseconds(waited);
    context_.metrics->queue_wait_seconds.Observe(absl::ToDoubleSeconds(waited));
  }
  expired_ = now >= context_.deadline;
  return !expired_ && !context_.cancelled();
}

void SampleJob::ComputeRow(int32_t row, RowWorker& worker) {
  const Clock::time_point start = Clock::now();
  Sample(row, worker);
  const absl::Duration taken = Since(start);
  context_.metrics->compute_ns += absl::ToInt64Nanoseconds(taken);
  context_.metrics->row_compute_seconds.Observe(absl::ToDoubleSeconds(taken));
}

void SampleJob::Sample(int32_t row, RowWorker& worker) {
  const BatchRow& asked = batch_.rows[row];
  sampling::RowInput input = asked.input;
  input.logits = {.type = batch_.data_type, .vocab_size = batch_.vocab_size};
  if (!input.candidates) {
    input.logits.pieces = batch_.tensor.Row(static_cast<size_t>(row), worker.room);
    if (input.logits.pieces.empty()) {
      results_[row].error = sampling::RowErrorCode::kUnreadable;
      return;
    }
  }
  worker.sampler.Sample(batch_.params[asked.params_index], input, results_[row]);
}

void SampleJob::Done(bool computed) {
  const absl::Status status = computed ? Respond() : NotWanted();
  share_.reset();  // before the caller hears of it and sends the next message
  context_.done(status);
}

absl::Status SampleJob::Respond() {
  FillResponse(batch_, results_, *context_.response);
  context_.metrics->rows += row_count();
  for (const v1::RowError& error : context_.response->row_errors()) {
    context_.metrics->row_errors[error.code()]++;
  }
  for (const sampling::RowResult& result : results_) {
    if (result.error != sampling::RowErrorCode::kNone) continue;
    context_.metrics->tokens += static_cast<int64_t>(result.draws.size());
    context_.metrics->xtc_armed += result.xtc_armed;
    context_.metrics->xtc_applied += result.xtc_applied;
    context_.metrics->kept_tokens.Observe(result.kept_count);
  }
  const auto bytes = static_cast<int64_t>(context_.response->ByteSizeLong());
  if (bytes <= context_.max_message_bytes) return absl::OkStatus();
  context_.metrics->messages_shed++;
  return absl::ResourceExhaustedError(absl::StrCat(
      "the reply has ", bytes, " bytes: over max_message_bytes ", context_.max_message_bytes));
}

absl::Status SampleJob::NotWanted() {
  context_.metrics->messages_expired++;
  if (!expired_) return absl::CancelledError("the call ended while it was queued");
  return absl::DeadlineExceededError(
      "the deadline passed while the message was queued; it was not computed");
}

}  // namespace tokendraw
