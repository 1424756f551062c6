#include "client/call.h"

#include <grpcpp/grpcpp.h>

#include "client/encode.h"
#include "client/raw_stub.h"
#include "client/resend.h"
#include "client/status.h"

namespace tokendraw {
namespace {

// As the generated stub does it, save that the message is bytes already.
absl::StatusOr<v1::SampleTokensResponse> Send(const Connection& connection,
                                              const grpc::ByteBuffer& message,
                                              const Deadline& deadline) {
  grpc::ClientContext context;
  context.set_deadline(deadline.ForGrpc());
  grpc::CompletionQueue queue;
  v1::SampleTokensResponse response;
  grpc::Status status;
  const auto call =
      RawStub(connection.channel()).PrepareUnaryCall(&context, kSampleTokens, message, &queue);
  call->StartCall();
  call->Finish(&response, &status, nullptr);
  void* tag;
  bool ok;
  queue.Next(&tag, &ok);
  queue.Shutdown();
  if (!status.ok()) return EndOf(context, status);
  return response;
}

absl::StatusOr<v1::SampleTokensResponse> Attempt(Connection& connection,
                                                 const v1::SampleTokensRequest& request,
                                                 const Rows& rows, const Deadline& deadline) {
  for (;;) {
    const absl::StatusOr<Outgoing> message = connection.Prepare(request, rows, deadline);
    if (!message.ok()) return message.status();
    absl::StatusOr<v1::SampleTokensResponse> response = Send(connection, message->bytes, deadline);
    if (response.ok() || !connection.StopsSharing(response.status(), message->payload)) {
      return response;
    }
  }
}

}  // namespace

absl::StatusOr<v1::SampleTokensResponse> SampleTokens(Endpoints& endpoints, std::size_t turn,
                                                      const Deadline& deadline,
                                                      const v1::SampleTokensRequest& request,
                                                      const Rows& rows) {
  if (absl::Status status = CheckRows(request, rows); !status.ok()) return status;
  const auto send = [&](const v1::SampleTokensRequest& part, const Rows& part_rows) {
    return CallWithRetries(endpoints, turn, deadline, [&](Connection& connection) {
      return Attempt(connection, part, part_rows, deadline);
    });
  };
  absl::StatusOr<v1::SampleTokensResponse> reply = send(request, rows);
  if (!reply.ok()) return reply;
  return WithWholeRows(request, rows, *std::move(reply), send);
}

}  // namespace tokendraw
