#include "service/dispatcher.h"

#include <algorithm>
#include <utility>

#include "service/explain.h"
#include "service/sample_job.h"

namespace tokendraw {
namespace {

Metrics::Payload& PayloadOf(const v1::LogitsTensor& logits, Metrics& metrics) {
  switch (logits.payload_case()) {
    case v1::LogitsTensor::kShards:
      return metrics.shards;
    case v1::LogitsTensor::kValues:
      return metrics.values;
    case v1::LogitsTensor::kSharedMemory:
      return metrics.shared_memory;
    case v1::LogitsTensor::kCandidates:
      return metrics.candidates;
    default:
      return metrics.inline_rows;
  }
}

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

void Dispatcher::Dispatch(Message message, RowWorker* here) {
  const v1::SampleTokensRequest& request = message.request->message();
  message.response->set_step(request.step());
  message.response->set_semantics_version(sampling::kSemanticsVersion);

  absl::StatusOr<Batch> batch = ConvertRequest(*message.request, limits_, shared_memory_);
  if (!batch.ok()) {
    const bool over_limit = absl::IsResourceExhausted(batch.status());
    (over_limit ? metrics_.messages_shed : metrics_.messages_invalid)++;
    return message.done(batch.status());
  }
  if (request.timeout_ms() > 0) {
    message.deadline =
        std::min(message.deadline, Clock::now() + std::chrono::milliseconds(request.timeout_ms()));
  }
  const auto rows = static_cast<int64_t>(batch->rows.size());
  absl::StatusOr<QueueBudget::Share> share = budget_.Take(message.request->size(), rows);
  if (!share.ok()) {
    metrics_.messages_shed++;
    return message.done(Full(share.status()));
  }
  Metrics::Payload& payload = PayloadOf(request.logits(), metrics_);
  payload.messages++;
  payload.rows += rows;
  payload.bytes += message.request->size();

  auto job = std::make_shared<SampleJob>(SampleJobContext{.response = message.response,
                                                          .deadline = message.deadline,
                                                          .cancelled = std::move(message.cancelled),
                                                          .done = std::move(message.done),
                                                          .max_message_bytes = max_message_bytes_,
                                                          .metrics = &metrics_},
                                         *std::move(batch), *std::move(share));
  const bool is_alone = budget_.rows() == rows;
  if (here == nullptr || !is_alone || !job->IsSmall()) return pool_.Submit(std::move(job));
  metrics_.messages_here++;
  RunHere(*job, *here);
}

absl::Status Dispatcher::Explain(const v1::ExplainRowRequest& request,
                                 v1::ExplainRowResponse& response) {
  const int64_t tokens = std::clamp(request.logits().vocab_size(), 0, kMostExplainedVocab);
  const auto share = budget_.Take(tokens * kExplainedBytesPerToken, 1);
  if (!share.ok()) {
    metrics_.messages_shed++;
    return Full(share.status());
  }
  const absl::Status status = ExplainRow(request, shared_memory_, response);
  if (!status.ok()) metrics_.messages_invalid++;
  return status;
}

// Adds when there is likely room again: when the rows that are held are computed, as long as rows
// took so far.
absl::Status Dispatcher::Full(const absl::Status& status) const {
  constexpr int64_t kNanosecondsPerMs = 1'000'000;
  const int64_t row_ns = metrics_.compute_ns / std::max<int64_t>(metrics_.rows, 1);
  const int64_t ms = budget_.rows() * row_ns / pool_.threads() / kNanosecondsPerMs;
  return RetryAfter(status, static_cast<int32_t>(std::clamp<int64_t>(ms, 1, 1000)));
}

}  // namespace tokendraw
