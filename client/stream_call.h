// One gRPC stream to one server; private to the library.
#ifndef TOKENDRAW_CLIENT_STREAM_CALL_H_
#define TOKENDRAW_CLIENT_STREAM_CALL_H_

#include <grpcpp/grpcpp.h>

#include <array>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/connection.h"
#include "client/retry.h"
#include "tokendraw/v1/sampling.grpc.pb.h"

namespace tokendraw {

// Every call waits no longer than its deadline. A deadline in the gRPC call itself would end the
// stream, and a synchronous stream has no other; so this is the completion queue interface, polled
// by the calling thread. After an error the stream is good for nothing but destruction.
class StreamCall {
 public:
  explicit StreamCall(const Connection& connection);
  // Cancels the stream if it is not over.
  ~StreamCall();

  // Sends a SampleTokensRequest; waits while the transport still holds the one before it. A stream
  // that broke takes the message in silence: Read tells, once the replies that came before are
  // read.
  absl::Status Write(const grpc::ByteBuffer& request, const Deadline& deadline);

  // The next reply. UNAVAILABLE if the server ended the stream without an error.
  absl::StatusOr<v1::SampleTokensResponse> Read(const Deadline& deadline);

  // Says that no message follows, and waits for the server's status.
  absl::Status Finish(const Deadline& deadline);

 private:
  enum Operation { kStart, kWrite, kRead, kFinish, kOperations };

  void* Begin(Operation operation);
  absl::Status Await(Operation operation, const Deadline& deadline);
  absl::Status ServerStatus(const Deadline& deadline);

  grpc::ClientContext context_;
  grpc::CompletionQueue queue_;
  std::array<bool, kOperations> running_{};
  std::array<bool, kOperations> failed_{};
  v1::SampleTokensResponse response_;
  grpc::Status status_;
  std::unique_ptr<grpc::ClientAsyncReaderWriter<grpc::ByteBuffer, v1::SampleTokensResponse>>
      stream_;
};

}  // namespace tokendraw

#endif  // TOKENDRAW_CLIENT_STREAM_CALL_H_
