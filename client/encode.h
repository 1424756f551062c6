// Requests as the bytes that gRPC sends; private to the library.
#ifndef TOKENDRAW_CLIENT_ENCODE_H_
#define TOKENDRAW_CLIENT_ENCODE_H_

#include <grpcpp/support/byte_buffer.h>

#include <cstddef>

#include "absl/status/status.h"
#include "client/row_buffer.h"
#include "tokendraw/v1/sampling.pb.h"

namespace tokendraw {

// INVALID_ARGUMENT unless `rows` can be the tensor of `request`: all of it lies in the buffer, the
// shape and data_type are within their ranges, and there is no payload already. With candidates it
// is the whole rows behind them. OK without a buffer.
absl::Status CheckRows(const v1::SampleTokensRequest& request, const Rows& rows);

// Bytes of that tensor, once CheckRows is OK.
std::size_t TensorBytes(const v1::LogitsTensor& logits);

// As protobuf does it.
grpc::ByteBuffer Encode(const v1::SampleTokensRequest& request);

// The same bytes as if logits.inline held a copy of the rows; but these point into the buffer, and
// hold it.
grpc::ByteBuffer EncodeInline(const v1::SampleTokensRequest& request, const Rows& rows);

// With logits.shared_memory; the buffer must be a file.
grpc::ByteBuffer EncodeShared(const v1::SampleTokensRequest& request, const Rows& rows);

}  // namespace tokendraw

#endif  // TOKENDRAW_CLIENT_ENCODE_H_
