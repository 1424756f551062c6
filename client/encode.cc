#include "client/encode.h"

#include <google/protobuf/io/coded_stream.h>

#include <cstdint>
#include <iterator>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "client/shared_file.h"
#include "client/tensor.h"
#include "tokendraw/v1/sampling.grpc.pb.h"

namespace tokendraw {
namespace {

using google::protobuf::io::CodedOutputStream;

// What precedes the `bytes` bytes of a field that has a length. Numbers up to 15 have one-byte
// tags.
std::string FieldHead(int field, std::size_t bytes) {
  std::uint8_t head[1 + 10];
  head[0] = static_cast<std::uint8_t>(field << 3 | 2);
  std::uint8_t* const end = CodedOutputStream::WriteVarint64ToArray(bytes, head + 1);
  return std::string(head, end);
}

// `request` and then the payload of its tensor: `payload_head`, which ends what this returns, and
// `bytes` more bytes. Payloads have the highest numbers of LogitsTensor, and that has the highest
// of the request: so both are last.
grpc::Slice EncodeHead(const v1::SampleTokensRequest& request, const std::string& payload_head,
                       std::size_t bytes) {
  constexpr int kLogits = v1::SampleTokensRequest::kLogitsFieldNumber;
  const std::string scalars = request.logits().SerializeAsString();
  std::string head = request.SerializeAsString();
  head.resize(head.size() - FieldHead(kLogits, scalars.size()).size() - scalars.size());
  head += FieldHead(kLogits, scalars.size() + payload_head.size() + bytes);
  head += scalars;
  head += payload_head;
  return grpc::Slice(head);
}

bool HasUnknownFields(const google::protobuf::Message& message) {
  return !message.GetReflection()->GetUnknownFields(message).empty();
}

absl::Status Violation(const std::string& text) { return absl::InvalidArgumentError(text); }

}  // namespace

absl::Status CheckRows(const v1::SampleTokensRequest& request, const Rows& rows) {
  if (rows.buffer == nullptr) return absl::OkStatus();
  const v1::LogitsTensor& logits = request.logits();
  const bool candidates = logits.has_candidates();
  if (logits.payload_case() != v1::LogitsTensor::PAYLOAD_NOT_SET && !candidates) {
    return Violation("logits.payload must not be set beside rows");
  }
  // They would stand behind the logits; the server refuses them, too.
  if (HasUnknownFields(request) || HasUnknownFields(logits)) {
    return Violation("a request with rows must not have unknown fields");
  }
  const std::int32_t row_stride = candidates ? rows.row_stride : logits.row_stride();
  if (logits.vocab_size() < 1) return Violation("logits.vocab_size must be >= 1");
  if (logits.row_count() < 1) return Violation("logits.row_count must be >= 1");
  if (row_stride != 0 && row_stride < logits.vocab_size()) {
    return Violation("row_stride must be 0 or >= vocab_size");
  }
  const int element_bytes = ElementBytes(candidates ? rows.data_type : logits.data_type());
  if (element_bytes == 0) return Violation("data_type must be F32, F16 or BF16");
  // At most 2^31 * 2^31 * 4, which fits.
  const std::uint64_t bytes = static_cast<std::uint64_t>(logits.row_count()) *
                              (row_stride != 0 ? row_stride : logits.vocab_size()) * element_bytes;
  const std::uint64_t size = rows.buffer->bytes().size();
  if (rows.offset > size || bytes > size - rows.offset) {
    return Violation(absl::StrCat("expected ", bytes, " bytes of rows from offset ", rows.offset,
                                  " on, the buffer has ", size, " bytes"));
  }
  return absl::OkStatus();
}

std::size_t TensorBytes(const v1::LogitsTensor& logits) {
  const std::int32_t row_stride =
      logits.row_stride() != 0 ? logits.row_stride() : logits.vocab_size();
  return static_cast<std::size_t>(logits.row_count()) * row_stride *
         ElementBytes(logits.data_type());
}

grpc::ByteBuffer Encode(const v1::SampleTokensRequest& request) {
  grpc::ByteBuffer message;
  bool own_buffer;
  // Fails on nothing but messages of more than 2 GiB, which gRPC does not send either.
  (void)grpc::SerializationTraits<v1::SampleTokensRequest>::Serialize(request, &message,
                                                                      &own_buffer);
  return message;
}

grpc::ByteBuffer EncodeInline(const v1::SampleTokensRequest& request, const Rows& rows) {
  using Holder = std::shared_ptr<const RowBuffer>;
  const std::size_t bytes = TensorBytes(request.logits());
  const grpc::Slice slices[] = {
      EncodeHead(request, FieldHead(v1::LogitsTensor::kInlineFieldNumber, bytes), bytes),
      grpc::Slice(
          rows.buffer->bytes().data() + rows.offset, bytes,
          [](void* holder) { delete static_cast<Holder*>(holder); }, new Holder(rows.buffer)),
  };
  return grpc::ByteBuffer(slices, std::size(slices));
}

grpc::ByteBuffer EncodeShared(const v1::SampleTokensRequest& request, const Rows& rows) {
  v1::SharedMemory place;
  place.set_name(rows.buffer->file()->name());
  place.set_offset(static_cast<std::int64_t>(rows.offset));
  const std::string bytes = place.SerializeAsString();
  const grpc::Slice message = EncodeHead(
      request, FieldHead(v1::LogitsTensor::kSharedMemoryFieldNumber, bytes.size()) + bytes, 0);
  return grpc::ByteBuffer(&message, 1);
}

}  // namespace tokendraw
