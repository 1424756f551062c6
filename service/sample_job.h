// One admitted message, as rows to compute.
#ifndef TOKENDRAW_SERVICE_SAMPLE_JOB_H_
#define TOKENDRAW_SERVICE_SAMPLE_JOB_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "service/clock.h"
#include "service/convert.h"
#include "service/metrics.h"
#include "service/queue_budget.h"
#include "service/row_pool.h"
#include "tokendraw/v1/sampling.pb.h"

namespace tokendraw {

// What a job needs beside its rows. See Message.
struct SampleJobContext {
  v1::SampleTokensResponse* response;
  Clock::time_point deadline;
  std::function<bool()> cancelled;
  std::function<void(const absl::Status&)> done;
  int64_t max_message_bytes;  // of the reply
  Metrics* metrics;
};

class SampleJob final : public RowJob {
 public:
  SampleJob(SampleJobContext context, Batch batch, QueueBudget::Share share);

  // Whether computing it takes about as long as two changes of threads.
  bool IsSmall() const;

  int32_t row_count() const override { return static_cast<int32_t>(batch_.rows.size()); }
  bool Wanted() override;
  void ComputeRow(int32_t row, RowWorker& worker) override;
  void Done(bool computed) override;

 private:
  void Sample(int32_t row, RowWorker& worker);
  absl::Status Respond();
  absl::Status NotWanted();

  const SampleJobContext context_;
  const Batch batch_;
  const Clock::time_point queued_;
  std::optional<QueueBudget::Share> share_;
  std::vector<sampling::RowResult> results_;
  bool started_ = false;
  bool expired_ = false;
};

}  // namespace tokendraw

#endif  // TOKENDRAW_SERVICE_SAMPLE_JOB_H_
