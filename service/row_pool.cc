#include "service/row_pool.h"

#include <utility>

namespace tokendraw {

RowPool::RowPool(int threads) {
  for (int i = 0; i < threads; ++i) threads_.emplace_back(&RowPool::Work, this);
}

RowPool::~RowPool() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void RowPool::Submit(std::shared_ptr<RowJob> job) {
  const int32_t rows = job->row_count();
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::make_shared<Entry>(Entry{.job = std::move(job)}));
  }
  rows > 1 ? changed_.notify_all() : changed_.notify_one();
}

std::shared_ptr<RowPool::Entry> RowPool::TakeRow(int32_t& row) {
  const std::shared_ptr<Entry> entry = queue_.front();
  const int32_t rows = entry->job->row_count();
  entry->wanted = entry->job->Wanted();
  row = entry->wanted ? entry->next++ : -1;
  if (!entry->wanted) entry->next = rows;
  ++entry->running;
  if (entry->next == rows) {
    queue_.pop_front();
  } else if (entry->next % kTurnRows == 0) {
    queue_.pop_front();
    queue_.push_back(entry);
  }
  return entry;
}

void RowPool::Work() {
  RowWorker worker;
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
    if (queue_.empty()) return;
    int32_t row;
    const std::shared_ptr<Entry> entry = TakeRow(row);
    lock.unlock();
    if (row >= 0) entry->job->ComputeRow(row, worker);
    lock.lock();
    const bool is_last = --entry->running == 0 && entry->next == entry->job->row_count();
    if (!is_last) continue;
    lock.unlock();
    entry->job->Done(entry->wanted);
    lock.lock();
  }
}

void RunHere(RowJob& job, RowWorker& worker) {
  for (int32_t row = 0; row < job.row_count(); ++row) {
    if (!job.Wanted()) return job.Done(false);
    job.ComputeRow(row, worker);
  }
  job.Done(true);
}

}  // namespace tokendraw
