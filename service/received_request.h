// A request as it came off the wire. Rows are megabytes: they are not parsed into a string but stay
// where gRPC left them.
#ifndef TOKENDRAW_SERVICE_RECEIVED_REQUEST_H_
#define TOKENDRAW_SERVICE_RECEIVED_REQUEST_H_

#include <grpcpp/support/byte_buffer.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "service/wire_fields.h"
#include "tokendraw/v1/sampling.pb.h"

namespace tokendraw {

// Most shards of a tensor; more are a violation.
inline constexpr int kMostShards = 1024;

class ReceivedRequest {
 public:
  ReceivedRequest() = default;
  ReceivedRequest(const ReceivedRequest&) = delete;
  ReceivedRequest& operator=(const ReceivedRequest&) = delete;

  // Becomes the serialised SampleTokensRequest in `bytes`, whose memory it takes. INVALID_ARGUMENT
  // if that is none.
  absl::Status Read(grpc::ByteBuffer&& bytes);

  // Becomes `message`, parsed already.
  void Take(v1::SampleTokensRequest&& message);

  // The message. `inline` payloads may be empty here: InlineBytes has them.
  const v1::SampleTokensRequest& message() const { return message_; }

  // The bytes of logits.inline; with shards, those of each shard, none for one with another
  // payload.
  const Fragments& InlineBytes(int shard = 0) const { return inline_[static_cast<size_t>(shard)]; }

  // Size on the wire.
  int64_t size() const { return size_; }

  // Lets go of the memory.
  void Clear();

 private:
  bool ReadInPlace(const Fragments& bytes);
  void PointIntoMessage();

  // The slices are in the buffer too and must go before it: gRPC 1.51 crashes when the last
  // reference to received memory goes as a slice while memory is short.
  grpc::ByteBuffer bytes_;
  std::vector<grpc::Slice> slices_;
  int64_t size_ = 0;
  v1::SampleTokensRequest message_;
  std::vector<Fragments> inline_;
};

}  // namespace tokendraw

#endif  // TOKENDRAW_SERVICE_RECEIVED_REQUEST_H_
