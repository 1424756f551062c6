#include "service/queue_budget.h"

#include "absl/strings/str_cat.h"

namespace tokendraw {
namespace {

absl::Status Full(const char* limit, int64_t value) {
  return absl::ResourceExhaustedError(
      absl::StrCat("the queue is full: ", limit, " is ", value, "; retry with backoff"));
}

}  // namespace

QueueBudget::Share::~Share() {
  if (budget_ == nullptr) return;
  const std::lock_guard lock(budget_->mutex_);
  budget_->bytes_ -= bytes_;
  budget_->rows_ -= rows_;
}

absl::StatusOr<QueueBudget::Share> QueueBudget::Take(int64_t bytes, int64_t rows) {
  const std::lock_guard lock(mutex_);
  if (bytes > max_bytes_ - bytes_) return Full("max_queued_bytes", max_bytes_);
  if (rows > max_rows_ - rows_) return Full("max_queued_rows", max_rows_);
  bytes_ += bytes;
  rows_ += rows;
  return Share(this, bytes, rows);
}

int64_t QueueBudget::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

int64_t QueueBudget::rows() const {
  const std::lock_guard lock(mutex_);
  return rows_;
}

}  // namespace tokendraw
