// Walks the descriptors of a request: every field, at any depth, that is set to a value outside its
// range must give an error that names it. A new field without a check fails here.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "service/convert.h"
#include "tests/service/requests.h"

namespace tokendraw {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// Fields of which every value is in range.
const std::set<std::string> kNoRange = {
    "tokendraw.v1.SampleTokensRequest.step",
    "tokendraw.v1.RowSpec.seed",
    "tokendraw.v1.SamplingParams.p_less",
    "tokendraw.v1.SamplingParams.p_less_norm",
    "tokendraw.v1.SamplingParams.return_kept",
    "tokendraw.v1.SamplingParams.xtc_skip_constrained",
    "tokendraw.v1.LogitsTensor.inline",  // its length is checked, see convert_request_test
    "tokendraw.v1.VocabularyShard.inline",
    "tokendraw.v1.FloatValues.values",  // NaN is a row error, and so it is in candidates
    "tokendraw.v1.CandidateRow.logits",
    "tokendraw.v1.CandidateRow.log_sum_exp",
    "tokendraw.v1.CandidateRow.mean_logit",
    "tokendraw.v1.CandidateRow.max",
    "tokendraw.v1.CandidateRow.logit_mean",
    "tokendraw.v1.CandidateRow.logit_stddev",
    "tokendraw.v1.CandidateRow.sum_squared_probability",
};

// Payloads that a server without --shm_dir refuses as a whole.
const std::set<std::string> kUnimplemented = {"tokendraw.v1.LogitsTensor.shared_memory",
                                              "tokendraw.v1.VocabularyShard.shared_memory"};

// Sets one element of `field` to a value that is outside every range.
void SetOutOfRange(Message& message, const FieldDescriptor* field) {
  const auto* reflection = message.GetReflection();
  const bool repeated = field->is_repeated();
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32: {
      const int32_t bad = std::numeric_limits<int32_t>::min();
      repeated ? reflection->AddInt32(&message, field, bad)
               : reflection->SetInt32(&message, field, bad);
      return;
    }
    case FieldDescriptor::CPPTYPE_INT64:
      return reflection->SetInt64(&message, field, std::numeric_limits<int64_t>::min());
    case FieldDescriptor::CPPTYPE_FLOAT:
      return reflection->SetFloat(&message, field, std::numeric_limits<float>::quiet_NaN());
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return reflection->SetDouble(&message, field, std::numeric_limits<double>::quiet_NaN());
    case FieldDescriptor::CPPTYPE_ENUM:
      repeated ? reflection->AddEnumValue(&message, field, 99)
               : reflection->SetEnumValue(&message, field, 99);
      return;
    case FieldDescriptor::CPPTYPE_STRING:
      return reflection->SetString(&message, field, "x");
    default:
      FAIL() << field->full_name() << ": no value outside its range is known";
  }
}

// Visits each field below `message`, a part of `request`, that has no message type.
int Walk(v1::SampleTokensRequest& request, Message& message) {
  int visited = 0;
  const auto* reflection = message.GetReflection();
  const auto* descriptor = message.GetDescriptor();
  for (int i = 0; i < descriptor->field_count(); ++i) {
    const FieldDescriptor* field = descriptor->field(i);
    if (kNoRange.count(field->full_name()) + kUnimplemented.count(field->full_name()) > 0) continue;
    const v1::SampleTokensRequest saved = request;
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      Message* part = field->is_repeated() && reflection->FieldSize(message, field) > 0
                          ? reflection->MutableRepeatedMessage(&message, field, 0)
                      : field->is_repeated() ? reflection->AddMessage(&message, field)
                                             : reflection->MutableMessage(&message, field);
      visited += Walk(request, *part);
      continue;
    }
    ++visited;
    Message* copy = message.New();
    copy->CopyFrom(message);
    SetOutOfRange(message, field);
    const absl::Status status = Convert(request);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << field->full_name();
    EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr(field->name()))
        << field->full_name();
    message.CopyFrom(*copy);
    delete copy;
  }
  return visited;
}

TEST(DescriptorTest, EveryFieldOutOfRangeIsNamed) {
  v1::SampleTokensRequest request = ValuesRequest({{1, 2, 3}});
  request.add_params();
  request.add_rows();
  EXPECT_GE(Walk(request, request), 40);
}

TEST(DescriptorTest, TheListsNameRealFields) {
  const auto* pool = google::protobuf::DescriptorPool::generated_pool();
  for (const std::string& name : kNoRange) EXPECT_NE(pool->FindFieldByName(name), nullptr) << name;
  for (const std::string& name : kUnimplemented) {
    EXPECT_NE(pool->FindFieldByName(name), nullptr) << name;
  }
}

TEST(DescriptorTest, EveryParameterOfTheTableIsAFieldWithPresence) {
  for (const sampling::ParamRule& rule : sampling::ParamRules()) {
    const auto* field = v1::SamplingParams::descriptor()->FindFieldByName(rule.name);
    ASSERT_NE(field, nullptr) << rule.name;
    EXPECT_TRUE(field->has_presence()) << rule.name;
    EXPECT_THAT(rule.text, ::testing::StartsWith(rule.name));
  }
}

TEST(DescriptorTest, TheBulkComesLast) {
  const auto highest = [](const google::protobuf::Descriptor* message) {
    const FieldDescriptor* last = message->field(0);
    for (int i = 1; i < message->field_count(); ++i) {
      if (message->field(i)->number() > last->number()) last = message->field(i);
    }
    return last->name();
  };
  EXPECT_EQ(highest(v1::SampleTokensRequest::descriptor()), "logits");
  EXPECT_EQ(highest(v1::LogitsTensor::descriptor()), "inline");
}

}  // namespace
}  // namespace tokendraw
