#include <google/protobuf/unknown_field_set.h>
#include <gtest/gtest.h>

#include "service/convert.h"
#include "tests/service/requests.h"

namespace tokendraw {
namespace {

void AddUnknown(google::protobuf::Message& message) {
  message.GetReflection()->MutableUnknownFields(&message)->AddVarint(1234, 1);
}

std::string Error(const v1::SampleTokensRequest& request) {
  return std::string(Convert(request).message());
}

TEST(UnknownFieldsTest, AreRefusedAtAnyDepthWithTheirPath) {
  const std::string older = "; this server is older than the client";
  v1::SampleTokensRequest request = ValuesRequest({{1, 2}});
  EXPECT_EQ(Error(request), "");

  AddUnknown(request);
  EXPECT_EQ(Error(request), "1234: unknown field of SampleTokensRequest" + older);

  request = ValuesRequest({{1, 2}});
  request.add_params();
  AddUnknown(*request.add_params());
  EXPECT_EQ(Error(request), "params[1].1234: unknown field of SamplingParams" + older);

  request = ValuesRequest({{1, 2}});
  AddUnknown(*request.add_params()->mutable_logprobs());
  EXPECT_EQ(Error(request), "params[0].logprobs.1234: unknown field of Logprobs" + older);

  request = ValuesRequest({{1, 2}});
  AddUnknown(*request.mutable_logits()->mutable_values());
  EXPECT_EQ(Error(request), "logits.values.1234: unknown field of FloatValues" + older);
}

}  // namespace
}  // namespace tokendraw
