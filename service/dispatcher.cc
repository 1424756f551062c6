#include "service/dispatcher.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "service/guarded_copy.h"
#include "service/respond.h"

namespace tokendraw {
namespace {

class SampleJob final : public RowJob {
 public:
  SampleJob(Message message, Batch batch, QueueBudget::Share share, int64_t max_message_bytes,
            Metrics& metrics)
      : message_(std::move(message)),
        batch_(std::move(batch)),
        share_(std::move(share)),
        max_message_bytes_(max_message_bytes),
        metrics_(metrics),
        results_(batch_.rows.size()) {}

  int32_t row_count() const override { return static_cast<int32_t>(batch_.rows.size()); }

  bool Wanted() override {
    expired_ = absl::Now() >= message_.deadline;
    return !expired_ && !message_.cancelled();
  }

  void ComputeRow(int32_t row, RowWorker& worker) override {
    const BatchRow& asked = batch_.rows[row];
    sampling::RowInput input = asked.input;
    if (batch_.mapping != nullptr && !CopyRow(input.logits, worker.row)) {
      results_[row].error = sampling::RowErrorCode::kUnreadable;
      return;
    }
    worker.sampler.Sample(batch_.params[asked.params_index], input, results_[row]);
  }

  void Done(bool computed) override {
    const absl::Status status = computed ? Respond() : NotWanted();
    share_.reset();  // before the caller hears of it and sends the next message
    message_.done(status);
  }

 private:
  // Puts a copy that nobody can change in the place of a row in shared memory.
  static bool CopyRow(sampling::LogitsRow& row, std::vector<std::byte>& copy) {
    const size_t bytes = static_cast<size_t>(row.vocab_size) * sampling::ElementSize(row.type);
    copy.resize(std::max(copy.size(), bytes));
    const auto* from = static_cast<const std::byte*>(row.data);
    row.data = copy.data();
    return GuardedCopy({from, bytes}, copy.data());
  }

  absl::Status Respond() {
    metrics_.rows += row_count();
    metrics_.row_errors +=
        std::count_if(results_.begin(), results_.end(), [](const sampling::RowResult& result) {
          return result.error != sampling::RowErrorCode::kNone;
        });
    FillResponse(batch_, results_, *message_.response);
    const auto bytes = static_cast<int64_t>(message_.response->ByteSizeLong());
    if (bytes <= max_message_bytes_) return absl::OkStatus();
    metrics_.messages_shed++;
    return absl::ResourceExhaustedError(absl::StrCat(
        "the reply has ", bytes, " bytes: over max_message_bytes ", max_message_bytes_));
  }

  absl::Status NotWanted() {
    metrics_.messages_expired++;
    if (!expired_) return absl::CancelledError("the call ended while it was queued");
    return absl::DeadlineExceededError(
        "the deadline passed while the message was queued; nothing was computed");
  }

  const Message message_;
  const Batch batch_;
  std::optional<QueueBudget::Share> share_;
  const int64_t max_message_bytes_;
  Metrics& metrics_;
  std::vector<sampling::RowResult> results_;
  bool expired_ = false;
};

}  // namespace

Dispatcher::Dispatcher(const Options& options, int threads, SharedMemory* shared_memory,
                       Metrics& metrics)
    : limits_{.max_rows = options.max_rows,
              .max_draws = options.max_draws,
              .max_shared_bytes = options.max_queued_bytes},
      max_message_bytes_(options.max_message_bytes),
      shared_memory_(shared_memory),
      metrics_(metrics),
      budget_(options.max_queued_bytes, options.max_queued_rows),
      pool_(threads) {}

void Dispatcher::Dispatch(Message message) {
  const v1::SampleTokensRequest& request = *message.request;
  message.response->set_step(request.step());
  message.response->set_semantics_version(sampling::kSemanticsVersion);

  absl::StatusOr<Batch> batch = ConvertRequest(request, limits_, shared_memory_);
  if (!batch.ok()) {
    const bool over_limit = absl::IsResourceExhausted(batch.status());
    (over_limit ? metrics_.messages_shed : metrics_.messages_invalid)++;
    return message.done(batch.status());
  }
  if (request.timeout_ms() > 0) {
    message.deadline =
        std::min(message.deadline, absl::Now() + absl::Milliseconds(request.timeout_ms()));
  }
  absl::StatusOr<QueueBudget::Share> share = budget_.Take(
      static_cast<int64_t>(request.ByteSizeLong()), static_cast<int64_t>(batch->rows.size()));
  if (!share.ok()) {
    metrics_.messages_shed++;
    return message.done(share.status());
  }
  pool_.Submit(std::make_shared<SampleJob>(std::move(message), *std::move(batch), *std::move(share),
                                           max_message_bytes_, metrics_));
}

}  // namespace tokendraw
