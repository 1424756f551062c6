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
    queue_.push_back(std::make_shared<Entry>(Entry{std::move(job), 0, rows}));
  }
  rows > 1 ? changed_.notify_all() : changed_.notify_one();
}

void RowPool::Work() {
  RowWorker worker;
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
    if (queue_.empty()) return;
    const std::shared_ptr<Entry> entry = queue_.front();
    if (entry->next == 0 && !entry->job->Wanted()) {
      queue_.pop_front();
      lock.unlock();
      entry->job->Done(false);
      lock.lock();
      continue;
    }
    const int32_t row = entry->next++;
    if (entry->next == entry->job->row_count()) queue_.pop_front();
    lock.unlock();
    entry->job->ComputeRow(row, worker);
    lock.lock();
    if (--entry->remaining > 0) continue;
    lock.unlock();
    entry->job->Done(true);
    lock.lock();
  }
}

}  // namespace tokendraw
