// How much the server holds at a time, over all callers.
#ifndef TOKENDRAW_SERVICE_QUEUE_BUDGET_H_
#define TOKENDRAW_SERVICE_QUEUE_BUDGET_H_

#include <cstdint>
#include <mutex>
#include <utility>

#include "absl/status/statusor.h"

namespace tokendraw {

class QueueBudget {
 public:
  // A part of the budget, given back when it goes.
  class Share {
   public:
    Share(Share&& other) noexcept
        : budget_(std::exchange(other.budget_, nullptr)),
          bytes_(other.bytes_),
          rows_(other.rows_) {}
    Share& operator=(Share&&) = delete;
    ~Share();

   private:
    friend class QueueBudget;
    Share(QueueBudget* budget, int64_t bytes, int64_t rows)
        : budget_(budget), bytes_(bytes), rows_(rows) {}

    QueueBudget* budget_;
    int64_t bytes_;
    int64_t rows_;
  };

  QueueBudget(int64_t max_bytes, int64_t max_rows) : max_bytes_(max_bytes), max_rows_(max_rows) {}

  // RESOURCE_EXHAUSTED, naming the limit, if so much more does not fit now.
  absl::StatusOr<Share> Take(int64_t bytes, int64_t rows);

  // Taken now.
  int64_t bytes() const;
  int64_t rows() const;

 private:
  const int64_t max_bytes_;
  const int64_t max_rows_;
  mutable std::mutex mutex_;  // guards what is taken
  int64_t bytes_ = 0;
  int64_t rows_ = 0;
};

}  // namespace tokendraw

#endif  // TOKENDRAW_SERVICE_QUEUE_BUDGET_H_
