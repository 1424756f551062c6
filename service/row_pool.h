// The threads that compute rows. gRPC's own threads never do: they are few, and all I/O is theirs.
#ifndef TOKENDRAW_SERVICE_ROW_POOL_H_
#define TOKENDRAW_SERVICE_ROW_POOL_H_

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "sampling/sampler.h"
#include "service/tensor.h"

namespace tokendraw {

// What a thread of the pool keeps from row to row.
struct RowWorker {
  sampling::Sampler sampler;
  RowRoom room;
};

// The rows of one message.
class RowJob {
 public:
  virtual ~RowJob() = default;

  // >= 1.
  virtual int32_t row_count() const = 0;
  // Asked before each row, by one thread at a time: false if nobody waits for the job any more.
  // Then no further row is computed.
  virtual bool Wanted() = 0;
  // Computes one row. Rows of a job run on several threads at a time.
  virtual void ComputeRow(int32_t row, RowWorker& worker) = 0;
  // Called once, by the thread that computed last: true if all rows are computed.
  virtual void Done(bool computed) = 0;
};

// Computes a job on the calling thread.
void RunHere(RowJob& job, RowWorker& worker);

// Jobs take turns of kTurnRows rows, in the order of Submit, and all threads share the rows of a
// turn: a job of many rows cannot keep one of few waiting.
class RowPool {
 public:
  explicit RowPool(int threads);
  // Finishes what was submitted.
  ~RowPool();

  void Submit(std::shared_ptr<RowJob> job);
  int threads() const { return static_cast<int>(threads_.size()); }

 private:
  static constexpr int32_t kTurnRows = 16;

  struct Entry {
    std::shared_ptr<RowJob> job;
    int32_t next = 0;     // first row that no thread has taken
    int32_t running = 0;  // rows taken and not computed yet
    bool wanted = true;
  };

  // Takes the next row, or none if its job is not wanted. With the lock held.
  std::shared_ptr<Entry> TakeRow(int32_t& row);

  void Work();

  std::mutex mutex_;  // guards what stands below, and the entries
  std::condition_variable changed_;
  std::deque<std::shared_ptr<Entry>> queue_;  // of those with rows to take
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace tokendraw

#endif  // TOKENDRAW_SERVICE_ROW_POOL_H_
