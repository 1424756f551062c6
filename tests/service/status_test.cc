#include "service/status.h"

#include <gtest/gtest.h>

namespace tokendraw {
namespace {

TEST(StatusTest, NoViolationIsOk) { EXPECT_TRUE(Violations().ToStatus().ok()); }

TEST(StatusTest, ManyViolationsFitAHeader) {
  Violations violations;
  const std::string path(100, 'p');
  for (int i = 0; i < 100'000; ++i) violations.Add(path, "must be something else");
  EXPECT_EQ(violations.count(), 100'000u);
  EXPECT_EQ(violations.kept().size(), Violations::kMaxKept);
  const std::string text(violations.ToStatus().message());
  EXPECT_LT(text.size(), 4096u);
  EXPECT_EQ(text.substr(text.size() - 16), "; and 99984 more");
}

TEST(StatusTest, CodesAreTheSameOnBothSides) {
  for (int code = 0; code <= 16; ++code) {
    const absl::Status status(static_cast<absl::StatusCode>(code), "text");
    EXPECT_EQ(static_cast<int>(ToGrpcStatus(status).error_code()), code);
    EXPECT_EQ(ToError(status).code(), code);
  }
  const absl::Status status = absl::ResourceExhaustedError("text");
  EXPECT_EQ(ToGrpcStatus(status).error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(ToGrpcStatus(status).error_message(), "text");
  EXPECT_EQ(ToError(status).message(), "text");
}

TEST(StatusTest, RetryAdviceTravelsWithTheStatus) {
  const absl::Status full = RetryAfter(absl::ResourceExhaustedError("full"), 25);
  EXPECT_EQ(RetryAfterMs(full), 25);
  EXPECT_EQ(ToError(full).retry_after_ms(), 25);
  EXPECT_EQ(full.message(), "full");
  EXPECT_EQ(RetryAfterMs(absl::ResourceExhaustedError("for ever")), 0);
  EXPECT_FALSE(ToError(absl::ResourceExhaustedError("for ever")).retry_after_ms());
}

}  // namespace
}  // namespace tokendraw
