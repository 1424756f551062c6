#include "service/queue_budget.h"

#include <gtest/gtest.h>

#include <optional>

namespace tokendraw {
namespace {

TEST(QueueBudgetTest, NamesTheLimitThatIsFullAndTakesBack) {
  QueueBudget budget(100, 10);
  absl::StatusOr<QueueBudget::Share> share = budget.Take(60, 6);
  ASSERT_TRUE(share.ok());
  std::optional<QueueBudget::Share> first(*std::move(share));

  EXPECT_EQ(budget.Take(41, 1).status(),
            absl::ResourceExhaustedError(
                "the queue is full: max_queued_bytes is 100; retry with backoff"));
  EXPECT_EQ(
      budget.Take(1, 5).status(),
      absl::ResourceExhaustedError("the queue is full: max_queued_rows is 10; retry with backoff"));
  EXPECT_TRUE(budget.Take(40, 4).ok()) << "exactly full, and given back at once";

  first.reset();
  EXPECT_TRUE(budget.Take(100, 10).ok());
}

TEST(QueueBudgetTest, HugeSizesDoNotOverflow) {
  QueueBudget budget(100, 10);
  const absl::StatusOr<QueueBudget::Share> held = budget.Take(100, 10);
  ASSERT_TRUE(held.ok());
  EXPECT_FALSE(budget.Take(std::numeric_limits<int64_t>::max(), 0).ok());
}

}  // namespace
}  // namespace tokendraw
