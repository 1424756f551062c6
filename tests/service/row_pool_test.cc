#include "service/row_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <latch>
#include <set>

namespace tokendraw {
namespace {

// Counts what the pool does with it.
class CountingJob : public RowJob {
 public:
  // Wanted until it has been asked `wanted` times.
  explicit CountingJob(int32_t rows, int wanted = 1'000'000) : computed_(rows), wanted_(wanted) {}

  int32_t row_count() const override { return static_cast<int32_t>(computed_.size()); }
  bool Wanted() override { return asked++ < wanted_; }
  void ComputeRow(int32_t row, RowWorker&) override { ++computed_[row]; }
  void Done(bool computed) override {
    done_computed = computed;
    rows_at_done = Computed();
    if (on_done) on_done();
    done.count_down();
  }
  int Computed() const {
    int rows = 0;
    for (const std::atomic<int>& row : computed_) rows += row;
    return rows;
  }

  std::atomic<int> asked{0};
  int rows_at_done = -1;
  bool done_computed = false;
  std::function<void()> on_done;
  std::latch done{1};

 private:
  std::vector<std::atomic<int>> computed_;
  const int wanted_;
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
    EXPECT_EQ(job->asked, job->row_count());
  }
}

TEST(RowPoolTest, AnUnwantedJobIsNotComputed) {
  RowPool pool(2);
  auto job = std::make_shared<CountingJob>(5, /*wanted=*/0);
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

// Its first row waits until it is let go.
class HeldJob : public CountingJob {
 public:
  using CountingJob::CountingJob;
  void ComputeRow(int32_t row, RowWorker& worker) override {
    if (row == 0) go.wait();
    CountingJob::ComputeRow(row, worker);
  }

  std::latch go{1};
};

TEST(RowPoolTest, AJobOfManyRowsLeavesTurnsToOthers) {
  RowPool pool(1);
  auto large = std::make_shared<HeldJob>(500);
  auto small = std::make_shared<CountingJob>(1);
  int large_rows_at_small = -1;
  small->on_done = [&] { large_rows_at_small = large->Computed(); };
  pool.Submit(large);
  pool.Submit(small);
  large->go.count_down();
  small->done.wait();
  large->done.wait();
  EXPECT_LE(large_rows_at_small, 16);
  EXPECT_EQ(large->rows_at_done, 500);
}

TEST(RowPoolTest, AJobThatNobodyWantsAnyMoreIsLeftHalfDone) {
  RowPool pool(2);
  auto job = std::make_shared<CountingJob>(100, /*wanted=*/3);
  pool.Submit(job);
  job->done.wait();
  EXPECT_FALSE(job->done_computed);
  EXPECT_EQ(job->rows_at_done, 3);
}

TEST(RowPoolTest, HereIsTheCallersThread) {
  RowWorker worker;
  CountingJob job(5);
  RunHere(job, worker);
  EXPECT_TRUE(job.done_computed);
  EXPECT_EQ(job.rows_at_done, 5);
  CountingJob unwanted(5, /*wanted=*/2);
  RunHere(unwanted, worker);
  EXPECT_FALSE(unwanted.done_computed);
  EXPECT_EQ(unwanted.rows_at_done, 2);
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
