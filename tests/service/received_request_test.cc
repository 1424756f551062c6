#include "service/received_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "tests/service/requests.h"

namespace tokendraw {
namespace {

using Request = v1::SampleTokensRequest;

// `bytes`, in slices of every kind of size, must be received as protobuf parses them whole.
void ExpectReceived(const std::string& bytes) {
  Request parsed;
  const bool is_message = parsed.ParseFromString(bytes);
  for (const size_t slice_size :
       {size_t{1}, size_t{2}, size_t{3}, size_t{7}, size_t{100}, bytes.size() + 1}) {
    ReceivedRequest received;
    const absl::Status status = received.Read(Sliced(bytes, slice_size));
    ASSERT_EQ(status.ok(), is_message) << status << " in slices of " << slice_size;
    if (!is_message) {
      EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
      continue;
    }
    EXPECT_EQ(received.size(), static_cast<int64_t>(bytes.size()));
    EXPECT_EQ(WithInline(received).SerializeAsString(), parsed.SerializeAsString())
        << "in slices of " << slice_size;
  }
}

// A message with every kind of field around the payload.
Request Full() {
  Request request;
  request.set_step(-5);
  request.add_params()->set_typical_p(0.5);
  request.add_params()->add_xtc_protected_ids(300);
  request.add_rows()->set_seed(7);
  request.mutable_rows(0)->set_allowed_mask("mask");
  request.set_timeout_ms(1000);
  request.mutable_logits()->set_vocab_size(70000);
  request.mutable_logits()->set_row_count(2);
  request.mutable_logits()->set_data_type(v1::DATA_TYPE_BF16);
  return request;
}

std::string Bytes(size_t size) {
  std::string bytes;
  for (size_t i = 0; i < size; ++i) bytes.push_back(static_cast<char>(i * 37));
  return bytes;
}

struct Payload {
  const char* name;
  std::function<void(v1::LogitsTensor&)> set;
};

class PayloadTest : public ::testing::TestWithParam<Payload> {};

TEST_P(PayloadTest, IsReceivedInSlicesOfAnySize) {
  Request request = Full();
  GetParam().set(*request.mutable_logits());
  ExpectReceived(request.SerializeAsString());
}

INSTANTIATE_TEST_SUITE_P(
    , PayloadTest,
    ::testing::Values(
        Payload{"None", [](v1::LogitsTensor&) {}},
        Payload{"Inline", [](v1::LogitsTensor& l) { l.set_inline_(Bytes(1000)); }},
        Payload{"InlineEmpty", [](v1::LogitsTensor& l) { l.set_inline_(""); }},
        Payload{"Values", [](v1::LogitsTensor& l) { l.mutable_values()->add_values(2); }},
        Payload{"SharedMemory",
                [](v1::LogitsTensor& l) { l.mutable_shared_memory()->set_name("a"); }},
        Payload{"Candidates",
                [](v1::LogitsTensor& l) { l.mutable_candidates()->add_rows()->add_ids(3); }},
        Payload{"NoShards", [](v1::LogitsTensor& l) { l.mutable_shards(); }},
        Payload{"Shards",
                [](v1::LogitsTensor& l) {
                  for (int i = 0; i < 3; ++i) {
                    v1::VocabularyShard& shard = *l.mutable_shards()->add_shards();
                    shard.set_offset(100 * i);
                    shard.set_width(100);
                    shard.set_inline_(Bytes(100 + static_cast<size_t>(i)));
                  }
                  l.mutable_shards()->add_shards()->mutable_values()->add_values(1);
                  l.mutable_shards()->add_shards();
                }}),
    [](const auto& info) { return info.param.name; });

TEST(ReceivedRequestTest, AnEmptyMessageIsOne) { ExpectReceived(""); }

TEST(ReceivedRequestTest, RowsStayWhereTheyAre) {
  Request request = Full();
  request.mutable_logits()->set_inline_(Bytes(1000));
  const std::string bytes = request.SerializeAsString();
  const grpc::Slice slice(bytes.data(), bytes.size(), grpc::Slice::STATIC_SLICE);
  ReceivedRequest received;
  ASSERT_TRUE(received.Read(grpc::ByteBuffer(&slice, 1)).ok());
  ASSERT_EQ(received.InlineBytes().size(), 1u);
  EXPECT_EQ(received.InlineBytes()[0].data(),
            reinterpret_cast<const std::byte*>(bytes.data() + bytes.size() - 1000));
  EXPECT_TRUE(received.message().logits().has_inline_());
  EXPECT_TRUE(received.message().logits().inline_().empty());
}

// What protobuf allows and no client of ours sends.
TEST(ReceivedRequestTest, UnusualMessagesMeanWhatProtobufSays) {
  Request inline_rows, values;
  inline_rows.mutable_logits()->set_inline_("abcd");
  values.mutable_logits()->mutable_values()->add_values(3);
  Request shape = Full();
  const std::string a = inline_rows.SerializeAsString(), b = values.SerializeAsString(),
                    c = shape.SerializeAsString();
  ExpectReceived(a + c);  // the tensor in two pieces, its shape after its rows
  ExpectReceived(c + a);
  ExpectReceived(a + b);  // of two payloads the last one counts
  ExpectReceived(b + a);
  ExpectReceived(b + b);  // equal ones are merged
  ExpectReceived(a + a);
  ExpectReceived("\x7a\x08\x7a\x01q\x7a\x03xyz");                      // `inline` twice
  ExpectReceived("\x7a\x08\x62\x00\x7a\x04wxyz");                      // after `values`
  ExpectReceived("\x7a\x08\x7a\x04wxyz\x62\x00");                      // before them
  ExpectReceived("\x7a\x0a\x5a\x02\x0a\x00\x5a\x04\x0a\x02\x7a\x00");  // shards twice
  ExpectReceived("\x7a\x06\x5a\x04\x0a\x02\x7a\x00");                  // a shard with no bytes
  ExpectReceived("\x7a\x02\x78\x05");                               // `inline` as a number: unknown
  ExpectReceived("\x78\x05");                                       // `logits` as a number: unknown
  ExpectReceived("\x7b\x7c");                                       // as a group
  ExpectReceived("\xfa\x80\x80\x80\x00\x03\x7a\x01q");              // its tag in five bytes
  ExpectReceived("\x7a\x83\x80\x80\x80\x00\x7a\x01q");              // its length in five bytes
  ExpectReceived("\x08\x01\x7a\x03\x7a\x01q\x28\x05\xf0\x3f\x01");  // fields behind it, one unknown
}

TEST(ReceivedRequestTest, BrokenBytesAreInvalid) {
  ReceivedRequest received;
  EXPECT_EQ(received.Read(Sliced("\x7a\x05\x7a\x04xyz", 100)),
            absl::InvalidArgumentError("the message is not a serialised SampleTokensRequest"));
  ExpectReceived("\x7a\x05\x7a\x04xyz");       // longer than what holds it
  ExpectReceived("\x7a\x05\x7a\x03xy");        // cut short
  ExpectReceived("\x7a");                      // a tag alone
  ExpectReceived("\x7a\xff\xff\xff\xff\x07");  // two gigabytes that are not there
  ExpectReceived("\x7a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
  ExpectReceived(std::string("\x00", 1));                              // field 0
  ExpectReceived("\x0f");                                              // wire type 7
  ExpectReceived("\x09\x01");                                          // half a number
  ExpectReceived("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");  // too long a number
  ExpectReceived("\x12\x02\x09\x01");                                  // deeper
  ExpectReceived("\x7a\x05\x6a\x03\x0a\x01\xff");                      // a name that is not UTF-8
}

// Each message cut short at every byte.
TEST(ReceivedRequestTest, EveryBeginningOfAMessage) {
  Request request = Full();
  v1::VocabularyShard& shard = *request.mutable_logits()->mutable_shards()->add_shards();
  shard.set_width(3);
  shard.set_inline_(Bytes(20));
  const std::string bytes = request.SerializeAsString();
  for (size_t size = 0; size < bytes.size(); ++size) ExpectReceived(bytes.substr(0, size));
}

TEST(ReceivedRequestTest, ClearLetsGo) {
  ReceivedRequest received;
  ASSERT_TRUE(received.Read(Serialised(ValuesRequest({{1, 2}}))).ok());
  received.Clear();
  EXPECT_EQ(received.size(), 0);
  EXPECT_EQ(received.message().ByteSizeLong(), 0u);
}

}  // namespace
}  // namespace tokendraw
