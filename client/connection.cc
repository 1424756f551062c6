#include "client/connection.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/status.h"

namespace tokendraw {
namespace {

constexpr int kGrpcReceiveBytes = 4 * 1024 * 1024;

// The receive limit for a server that says `max_message_bytes`; 0 is "did not say".
int ReceiveBytes(std::int64_t max_message_bytes) {
  if (max_message_bytes <= 0) return kGrpcReceiveBytes;
  return static_cast<int>(
      std::min<std::int64_t>(max_message_bytes, std::numeric_limits<int>::max()));
}

}  // namespace

absl::Status Connection::CheckSize(const google::protobuf::Message& request) const {
  const std::size_t bytes = request.ByteSizeLong();
  if (max_message_bytes <= 0 || bytes <= static_cast<std::uint64_t>(max_message_bytes)) {
    return absl::OkStatus();
  }
  return absl::ResourceExhaustedError(absl::StrCat("the request has ", bytes,
                                                   " bytes, the server takes at most ",
                                                   max_message_bytes, " (max_message_bytes)"));
}

Endpoint::Endpoint(std::string address)
    : address_(std::move(address)), question_channel_(NewChannel(kGrpcReceiveBytes)) {}

std::shared_ptr<grpc::Channel> Endpoint::NewChannel(int max_receive_bytes) const {
  grpc::ChannelArguments args;
  args.SetMaxReceiveMessageSize(max_receive_bytes);
  args.SetServiceConfigJSON(R"({"loadBalancingConfig":[{"round_robin":{}}]})");
  // Retry does it; see there.
  args.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  // A restarted server is found within a second.
  args.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  args.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
  // The connect timeout, whatever its name: a host that swallows packets holds a call once for so
  // long. Much less, and a busy server would look like a dead one.
  args.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 1000);
  // Otherwise all clients of a process would share one socket.
  args.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  if (!address_.starts_with("unix:")) {
    args.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 30'000);
    args.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
  }
  return grpc::CreateCustomChannel(address_, grpc::InsecureChannelCredentials(), args);
}

absl::StatusOr<std::shared_ptr<const Connection>> Endpoint::Connect(const Deadline& deadline) {
  std::unique_lock lock(mutex_);
  if (connection_ != nullptr) return connection_;
  const auto stub = v1::SamplingService::NewStub(question_channel_);
  lock.unlock();  // each caller has its own deadline
  grpc::ClientContext context;
  context.set_deadline(deadline.ForGrpc());
  v1::GetServerInfoResponse info;
  const absl::Status status =
      ToAbslStatus(stub->GetServerInfo(&context, v1::GetServerInfoRequest(), &info));
  if (absl::IsDeadlineExceeded(status)) {  // gRPC does not always say whom it waited for
    return absl::DeadlineExceededError(absl::StrCat(status.message(), " (", address_, ")"));
  }
  if (!status.ok() && !absl::IsUnimplemented(status)) return status;

  lock.lock();
  if (connection_ != nullptr) return connection_;
  auto connection = std::make_shared<Connection>();
  connection->channel = NewChannel(ReceiveBytes(info.max_message_bytes()));
  connection->stub = v1::SamplingService::NewStub(connection->channel);
  connection->max_message_bytes = info.max_message_bytes();
  connection->max_in_flight = static_cast<std::size_t>(std::max(info.max_in_flight(), 1));
  connection_ = std::move(connection);
  question_channel_.reset();
  return connection_;
}

void Endpoint::Wait(std::chrono::nanoseconds pause) {
  std::unique_lock lock(mutex_);
  const auto channel = connection_ == nullptr ? question_channel_ : connection_->channel;
  lock.unlock();
  const auto end = std::chrono::system_clock::now() + pause;
  // A server that answers UNAVAILABLE is up: then nothing but the pause keeps the client from
  // calling it in a tight loop.
  const bool was_up = channel->GetState(true) == GRPC_CHANNEL_READY;
  for (grpc_connectivity_state state = channel->GetState(true);
       (was_up || state != GRPC_CHANNEL_READY) && channel->WaitForStateChange(state, end);
       state = channel->GetState(true)) {
  }
}

Endpoints::Endpoints(const ClientOptions& options) : options_(options) {
  for (const std::string& address : options_.addresses) {
    endpoints_.push_back(std::make_unique<Endpoint>(address));
  }
}

}  // namespace tokendraw
