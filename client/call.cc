#include "client/call.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <vector>

#include "client/encode.h"
#include "client/raw_stub.h"
#include "client/resend.h"
#include "client/status.h"

namespace tokendraw {
namespace {

// The same message to one server or to several: the first answer counts.
class Race {
 public:
  Race() = default;
  Race(const Race&) = delete;
  Race& operator=(const Race&) = delete;
  // Cancels what still runs.
  ~Race() {
    for (const auto& runner : runners_) runner->context.TryCancel();
    queue_.Shutdown();
    void* tag;
    bool ok;
    while (queue_.Next(&tag, &ok)) {
    }
  }

  // As the generated stub does it, save that the message is bytes already.
  void Start(const Connection& connection, const grpc::ByteBuffer& message,
             const Deadline& deadline) {
    Runner& runner = *runners_.emplace_back(std::make_unique<Runner>());
    runner.context.set_deadline(deadline.ForGrpc());
    connection.Authorize(runner.context);
    runner.call = RawStub(connection.channel())
                      .PrepareUnaryCall(&runner.context, kSampleTokens, message, &queue_);
    runner.call->StartCall();
    runner.call->Finish(&runner.response, &runner.status, &runner);
    ++running_;
  }

  bool runs() const { return running_ > 0; }

  // How the next one ended; nothing if none does until `end`.
  std::optional<absl::StatusOr<v1::SampleTokensResponse>> Await(
      std::chrono::system_clock::time_point end) {
    void* tag;
    bool ok;
    if (queue_.AsyncNext(&tag, &ok, end) != grpc::CompletionQueue::GOT_EVENT) return std::nullopt;
    --running_;
    Runner& runner = *static_cast<Runner*>(tag);
    if (!runner.status.ok()) return EndOf(runner.context, runner.status);
    return std::move(runner.response);
  }

 private:
  struct Runner {
    grpc::ClientContext context;
    v1::SampleTokensResponse response;
    grpc::Status status;
    std::unique_ptr<grpc::ClientAsyncResponseReader<v1::SampleTokensResponse>> call;
  };

  grpc::CompletionQueue queue_;
  std::vector<std::unique_ptr<Runner>> runners_;
  int running_ = 0;
};

// Rows without a seed would get other tokens from another server.
bool MayHedge(const Endpoints& endpoints, const v1::SampleTokensRequest& request) {
  return endpoints.options().hedge_delay > std::chrono::milliseconds::zero() &&
         request.rows_size() > 0 && std::ranges::all_of(request.rows(), &v1::RowSpec::has_seed);
}

// One call of `message` over `connection`, and after hedge_delay one more over another.
absl::StatusOr<v1::SampleTokensResponse> Send(Endpoints& endpoints, std::size_t turn,
                                              const Connection& connection,
                                              const grpc::ByteBuffer& message,
                                              const v1::SampleTokensRequest& request,
                                              const Rows& rows, const Deadline& deadline) {
  constexpr auto kNever = std::chrono::system_clock::time_point::max();
  Race race;
  race.Start(connection, message, deadline);
  if (!MayHedge(endpoints, request)) return *race.Await(kNever);
  auto result = race.Await(std::chrono::system_clock::now() + endpoints.options().hedge_delay);
  if (result) return *std::move(result);
  if (const auto other = endpoints.At(turn + 1).Connect(deadline); other.ok()) {
    const absl::StatusOr<Outgoing> again = (*other)->Prepare(request, rows, deadline);
    if (again.ok()) race.Start(**other, again->bytes, deadline);
  }
  do {
    result = race.Await(kNever);
  } while (!result->ok() && race.runs());
  return *std::move(result);
}

absl::StatusOr<v1::SampleTokensResponse> Attempt(Endpoints& endpoints, std::size_t turn,
                                                 Connection& connection,
                                                 const v1::SampleTokensRequest& request,
                                                 const Rows& rows, const Deadline& deadline) {
  for (;;) {
    const absl::StatusOr<Outgoing> message = connection.Prepare(request, rows, deadline);
    if (!message.ok()) return message.status();
    absl::StatusOr<v1::SampleTokensResponse> response =
        Send(endpoints, turn, connection, message->bytes, request, rows, deadline);
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
    return CallWithRetries(
        endpoints, turn, deadline, [&](Connection& connection, std::size_t turn_now) {
          return Attempt(endpoints, turn_now, connection, part, part_rows, deadline);
        });
  };
  absl::StatusOr<v1::SampleTokensResponse> reply = send(request, rows);
  if (!reply.ok()) return reply;
  return WithWholeRows(request, rows, *std::move(reply), send);
}

}  // namespace tokendraw
