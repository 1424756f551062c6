#include "client/encode.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "client/shared_file.h"
#include "tests/client/fake_server.h"

namespace tokendraw {
namespace {

using ::testing::HasSubstr;

std::shared_ptr<RowBuffer> MakeBuffer(std::size_t bytes) {
  auto buffer = RowBuffer::Create(nullptr, bytes);
  EXPECT_TRUE(buffer.ok()) << buffer.status();
  for (std::size_t i = 0; i < bytes; ++i) (*buffer)->bytes()[i] = std::byte(i * 7 % 251);
  return *std::move(buffer);
}

std::vector<grpc::Slice> SlicesOf(const grpc::ByteBuffer& message) {
  std::vector<grpc::Slice> slices;
  EXPECT_TRUE(message.Dump(&slices).ok());
  return slices;
}

std::string BytesOf(const grpc::ByteBuffer& message) {
  std::string bytes;
  for (const grpc::Slice& slice : SlicesOf(message)) bytes.append(slice.begin(), slice.end());
  return bytes;
}

struct Case {
  const char* name;
  v1::DataType type;
  int element_bytes;
  int vocab_size;
  int row_count;
  int row_stride;
  std::size_t offset;
  bool full;  // all other fields of the request are set
};

// The name alone, so that ctest's names stay the same.
void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

v1::SampleTokensRequest RequestOf(const Case& c) {
  v1::SampleTokensRequest request;
  request.mutable_logits()->set_data_type(c.type);
  request.mutable_logits()->set_vocab_size(c.vocab_size);
  request.mutable_logits()->set_row_count(c.row_count);
  request.mutable_logits()->set_row_stride(c.row_stride);
  if (!c.full) return request;
  request.set_step(1LL << 60);
  request.add_params()->set_temperature(0.5);
  request.add_params();
  for (int row = 0; row < c.row_count; ++row) {
    v1::RowSpec& spec = *request.add_rows();
    spec.set_seed(row);
    spec.set_allowed_mask(std::string(1000, 'm'));
    for (int i = 0; i < 300; ++i) spec.add_prompt_ids(i * 1000);
  }
  request.set_validation(v1::VALIDATION_LENIENT);
  request.set_timeout_ms(1);
  return request;
}

std::size_t BytesOf(const Case& c) {
  return std::size_t{1} * c.element_bytes * c.row_count *
         (c.row_stride > 0 ? c.row_stride : c.vocab_size);
}

class EncodeTest : public testing::TestWithParam<Case> {};

TEST_P(EncodeTest, InlineIsWhatProtobufWouldSend) {
  const Case& c = GetParam();
  v1::SampleTokensRequest request = RequestOf(c);
  const auto buffer = MakeBuffer(c.offset + BytesOf(c) + 5);
  const Rows rows{buffer, c.offset};
  ASSERT_TRUE(CheckRows(request, rows).ok()) << CheckRows(request, rows);
  const grpc::ByteBuffer message = EncodeInline(request, rows);

  request.mutable_logits()->set_inline_(buffer->bytes().data() + c.offset, BytesOf(c));
  EXPECT_EQ(BytesOf(message), request.SerializeAsString());
  EXPECT_EQ(BytesOf(Encode(request)), request.SerializeAsString());
  // Not a copy.
  const std::vector<grpc::Slice> slices = SlicesOf(message);
  EXPECT_EQ(static_cast<const void*>(slices.back().begin()), buffer->bytes().data() + c.offset);
  EXPECT_EQ(slices.back().size(), BytesOf(c));
}

TEST_P(EncodeTest, SharedIsWhatProtobufWouldSend) {
  const Case& c = GetParam();
  v1::SampleTokensRequest request = RequestOf(c);
  const TempDir dir(MemoryFileSystem());
  const auto buffer = RowBuffer::Create(*SharedDirectory::Open(dir.path()), c.offset + BytesOf(c));
  ASSERT_TRUE(buffer.ok()) << buffer.status();
  const grpc::ByteBuffer message = EncodeShared(request, {*buffer, c.offset});

  v1::SharedMemory& place = *request.mutable_logits()->mutable_shared_memory();
  place.set_name((*buffer)->file()->name());
  place.set_offset(static_cast<std::int64_t>(c.offset));
  EXPECT_EQ(BytesOf(message), request.SerializeAsString());
}

INSTANTIATE_TEST_SUITE_P(
    All, EncodeTest,
    testing::Values(Case{"Least", v1::DATA_TYPE_BF16, 2, 1, 1, 0, 0, false},
                    Case{"Offset", v1::DATA_TYPE_F32, 4, 5, 3, 0, 64, true},
                    Case{"Stride", v1::DATA_TYPE_F16, 2, 5, 3, 8, 2, true},
                    Case{"LengthsOfTwoBytes", v1::DATA_TYPE_F32, 4, 32, 1, 0, 0, false},
                    Case{"LengthsOfFourBytes", v1::DATA_TYPE_F32, 4, 151'936, 9, 152'064, 4, true}),
    [](const auto& info) { return info.param.name; });

// gRPC may hold a message longer than the caller waits for it.
TEST(EncodeInlineTest, TheMessageHoldsTheMemory) {
  auto buffer = MakeBuffer(100'000);
  const std::weak_ptr<RowBuffer> alive = buffer;
  const std::string want(reinterpret_cast<const char*>(buffer->bytes().data()), 100'000);
  const v1::SampleTokensRequest request = RequestOf({"", v1::DATA_TYPE_F32, 4, 25'000, 1});
  grpc::ByteBuffer message = EncodeInline(request, {buffer});
  buffer.reset();
  EXPECT_FALSE(alive.expired());
  EXPECT_TRUE(BytesOf(message).ends_with(want));
  message.Clear();
  EXPECT_TRUE(alive.expired());
}

TEST(CheckRowsTest, RefusesWhatIsNotInTheBuffer) {
  const Case good{"", v1::DATA_TYPE_F32, 4, 10, 3, 12, 8};
  const auto buffer = MakeBuffer(8 + 3 * 12 * 4);
  EXPECT_TRUE(CheckRows(RequestOf(good), {buffer, 8}).ok());
  EXPECT_TRUE(CheckRows(v1::SampleTokensRequest(), Rows()).ok());
  struct Fault {
    std::function<void(v1::SampleTokensRequest&, Rows&)> make;
    std::string text;
  };
  using Request = v1::SampleTokensRequest;
  const Fault faults[] = {
      {[](Request&, Rows& rows) { rows.offset = 9; }, "expected 144 bytes of rows from offset 9"},
      {[](Request&, Rows& rows) { rows.offset = SIZE_MAX; }, "the buffer has 152 bytes"},
      {[](Request& r, Rows&) { r.mutable_logits()->set_row_count(4); }, "expected 192 bytes"},
      {[](Request& r, Rows&) { r.mutable_logits()->set_row_stride(13); }, "expected 156 bytes"},
      {[](Request& r, Rows&) { r.mutable_logits()->set_row_stride(9); }, "row_stride must be 0"},
      {[](Request& r, Rows&) { r.mutable_logits()->set_row_stride(-1); }, "row_stride must be 0"},
      {[](Request& r, Rows&) { r.mutable_logits()->set_vocab_size(0); }, "vocab_size must be >= 1"},
      {[](Request& r, Rows&) { r.mutable_logits()->set_row_count(-1); }, "row_count must be >= 1"},
      {[](Request& r, Rows&) { r.mutable_logits()->clear_data_type(); }, "data_type must be"},
      {[](Request& r, Rows&) {
         r.mutable_logits()->set_row_count(INT32_MAX);
         r.mutable_logits()->set_row_stride(INT32_MAX);
       },
       "expected 18446744056529682436 bytes"},
      {[](Request& r, Rows&) { r.mutable_logits()->set_inline_("x"); }, "payload must not be set"},
      {[](Request& r, Rows&) { r.GetReflection()->MutableUnknownFields(&r)->AddVarint(99, 1); },
       "unknown fields"},
      {[](Request& r, Rows& rows) {
         r.mutable_logits()->mutable_candidates();
         rows.data_type = v1::DATA_TYPE_F32;
         rows.row_stride = 13;
       },
       "expected 156 bytes"},
  };
  for (const Fault& fault : faults) {
    v1::SampleTokensRequest request = RequestOf(good);
    Rows rows{buffer, 8};
    fault.make(request, rows);
    const absl::Status status = CheckRows(request, rows);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(fault.text));
  }
}

}  // namespace
}  // namespace tokendraw
