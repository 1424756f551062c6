#include "service/row_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <set>

namespace tokendraw {
namespace {

// Counts what the pool does with it.
class CountingJob : public RowJob {
 public:
  explicit CountingJob(int32_t rows, bool wanted = true) : computed_(rows), wanted_(wanted) {}

  int32_t row_count() const override { return static_cast<int32_t>(computed_.size()); }
  bool Wanted() override {
    ++asked;
    return wanted_;
  }
  void ComputeRow(int32_t row, RowWorker&) override { ++computed_[row]; }
  void Done(bool computed) override {
    done_computed = computed;
    rows_at_done = 0;
    for (const std::atomic<int>& row : computed_) rows_at_done += row;
    done.count_down();
  }

  std::atomic<int> asked{0};
  int rows_at_done = -1;
  bool done_computed = false;
  std::latch done{1};

 private:
  std::vector<std::atomic<int>> computed_;
  const bool wanted_;
};

TEST(RowPoolTest, EachRowOnceThenDoneOnce) {
  RowPool pool(4);
  EXPECT_EQ(pool.threads(), 4);
  for (int round = 0; round < 200; ++round) {
    auto job = std::make_shared<CountingJob>(1 + round % 17);
    pool.Submit(job);
    job->done.wait();
    EXPECT_EQ(job->rows_at_done, job->row_count());
    EXPECT_TRUE(job->done_computed);
    EXPECT_EQ(job->asked, 1);
  }
}

TEST(RowPoolTest, AnUnwantedJobIsNotComputed) {
  RowPool pool(2);
  auto job = std::make_shared<CountingJob>(5, /*wanted=*/false);
  pool.Submit(job);
  job->done.wait();
  EXPECT_EQ(job->rows_at_done, 0);
  EXPECT_FALSE(job->done_computed);
}

// Each of its two rows waits for the other: they must run at the same time.
class MeetingJob : public CountingJob {
 public:
  MeetingJob() : CountingJob(2) {}
  void ComputeRow(int32_t row, RowWorker& worker) override {
    meeting_.arrive_and_wait();
    CountingJob::ComputeRow(row, worker);
  }

 private:
  std::latch meeting_{2};
};

TEST(RowPoolTest, RowsOfAJobSpreadOverThreads) {
  RowPool pool(2);
  auto job = std::make_shared<MeetingJob>();
  pool.Submit(job);
  job->done.wait();
  EXPECT_EQ(job->rows_at_done, 2);
}

TEST(RowPoolTest, WhatWasSubmittedIsFinishedBeforeItGoes) {
  std::vector<std::shared_ptr<CountingJob>> jobs;
  {
    RowPool pool(1);
    for (int i = 0; i < 50; ++i) pool.Submit(jobs.emplace_back(std::make_shared<CountingJob>(3)));
  }
  for (const auto& job : jobs) EXPECT_EQ(job->rows_at_done, 3);
}

}  // namespace
}  // namespace tokendraw
