#include "client/status.h"

#include <gtest/gtest.h>

#include <string>

namespace tokendraw {
namespace {

TEST(ToAbslStatusTest, KeepsCodeAndMessage) {
  EXPECT_TRUE(ToAbslStatus(grpc::Status::OK).ok());
  for (int code = 1; code <= 16; ++code) {
    const absl::Status status = ToAbslStatus({static_cast<grpc::StatusCode>(code), "text"});
    EXPECT_EQ(status.raw_code(), code);
    EXPECT_EQ(std::string(status.message()), "text");
  }
}

TEST(ToAbslStatusTest, AResetStreamIsUnavailable) {
  const auto code_of = [](grpc::StatusCode code, const char* text) {
    return ToAbslStatus({code, text}).code();
  };
  EXPECT_EQ(code_of(grpc::StatusCode::INTERNAL, "Received RST_STREAM with error code 2"),
            absl::StatusCode::kUnavailable);
  EXPECT_EQ(code_of(grpc::StatusCode::CANCELLED, "Received RST_STREAM with error code 8"),
            absl::StatusCode::kUnavailable);
  EXPECT_EQ(code_of(grpc::StatusCode::RESOURCE_EXHAUSTED, "RST_STREAM with error code 11"),
            absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(code_of(grpc::StatusCode::CANCELLED, "Cancelled on the client side"),
            absl::StatusCode::kCancelled);
}

TEST(ErrorOfTest, IsOkOnlyWithoutAnError) {
  v1::SampleTokensResponse response;
  EXPECT_TRUE(ErrorOf(response).ok());
  struct Case {
    int code;
    absl::StatusCode want;
  };
  const Case cases[] = {
      {3, absl::StatusCode::kInvalidArgument}, {16, absl::StatusCode::kUnauthenticated},
      {0, absl::StatusCode::kUnknown},         {17, absl::StatusCode::kUnknown},
      {-1, absl::StatusCode::kUnknown},
  };
  for (const Case& c : cases) {
    response.mutable_error()->set_code(c.code);
    response.mutable_error()->set_message("text");
    EXPECT_EQ(ErrorOf(response).code(), c.want);
    EXPECT_EQ(std::string(ErrorOf(response).message()), "text");
  }
}

}  // namespace
}  // namespace tokendraw
