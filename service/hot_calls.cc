#include "service/hot_calls.h"

#include <grpcpp/support/proto_buffer_writer.h>

namespace tokendraw {

grpc::ByteBuffer ToBytes(const v1::SampleTokensResponse& response) {
  grpc::ByteBuffer bytes;
  bool is_owned;
  // Fails only over 2 GiB; the reply was checked against max_message_bytes.
  (void)grpc::SerializationTraits<v1::SampleTokensResponse>::Serialize(response, &bytes, &is_owned);
  return bytes;
}

}  // namespace tokendraw
