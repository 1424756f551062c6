// The threads that compute rows. gRPC's own threads never do: they are few, and all I/O is theirs.
#ifndef TOKENDRAW_SERVICE_ROW_POOL_H_
#define TOKENDRAW_SERVICE_ROW_POOL_H_

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "sampling/sampler.h"

namespace tokendraw {

// What a thread of the pool keeps from row to row.
struct RowWorker {
  sampling::Sampler sampler;
  std::vector<std::byte> row;  // of shared memory: the one copy that is looked at
};

// The rows of one message.
class RowJob {
 public:
  virtual ~RowJob() = default;

  // >= 1.
  virtual int32_t row_count() const = 0;
  // Asked once, before the first row is computed: false if nobody waits for the job any more.
  virtual bool Wanted() = 0;
  // Computes one row. Rows of a job run on several threads at a time.
  virtual void ComputeRow(int32_t row, RowWorker& worker) = 0;
  // Called once, on a thread of the pool, when all rows are computed; or none, if not Wanted.
  virtual void Done(bool computed) = 0;
};

// Jobs are taken in the order of Submit; all threads share the rows of the oldest one.
class RowPool {
 public:
  explicit RowPool(int threads);
  // Finishes what was submitted.
  ~RowPool();

  void Submit(std::shared_ptr<RowJob> job);
  int threads() const { return static_cast<int>(threads_.size()); }

 private:
  struct Entry {
    std::shared_ptr<RowJob> job;
    int32_t next = 0;       // first row that no thread has taken
    int32_t remaining = 0;  // rows not computed yet
  };

  void Work();

  std::mutex mutex_;  // guards what stands below, and the entries
  std::condition_variable changed_;
  std::deque<std::shared_ptr<Entry>> queue_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace tokendraw

#endif  // TOKENDRAW_SERVICE_ROW_POOL_H_
