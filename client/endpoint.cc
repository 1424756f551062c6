#include "client/endpoint.h"

#include <grpcpp/create_channel_posix.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/status.h"
#include "client/unix_socket.h"
#include "grpc/health/v1/health.grpc.pb.h"

namespace tokendraw {
namespace {

constexpr int kGrpcReceiveBytes = 4 * 1024 * 1024;

// The receive limit for a server that says `max_message_bytes`; 0 is "did not say".
int ReceiveBytes(std::int64_t max_message_bytes) {
  if (max_message_bytes <= 0) return kGrpcReceiveBytes;
  return static_cast<int>(
      std::min<std::int64_t>(max_message_bytes, std::numeric_limits<int>::max()));
}

std::shared_ptr<grpc::Channel> NewPortChannel(const std::string& address, int max_receive_bytes,
                                              const Identity& identity) {
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
  args.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 30'000);
  args.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
  identity.AddTo(args);
  return grpc::CreateCustomChannel(address, identity.credentials(), args);
}

// Over a socket of our own. gRPC neither resolves nor reconnects it: once broken it stays so.
absl::StatusOr<std::shared_ptr<grpc::Channel>> NewUnixChannel(const std::string& path,
                                                              int max_receive_bytes) {
  const absl::StatusOr<int> socket = ConnectUnixSocket(path);
  if (!socket.ok()) return socket.status();
  grpc::ChannelArguments args;
  args.SetMaxReceiveMessageSize(max_receive_bytes);
  // What gRPC calls the host of a unix socket that it opens itself.
  args.SetString(GRPC_ARG_DEFAULT_AUTHORITY, "localhost");
  return grpc::CreateCustomInsecureChannelFromFd("localhost", *socket, args);
}

}  // namespace

Endpoint::Endpoint(std::string address, std::string shm_dir,
                   std::shared_ptr<const Identity> identity)
    : address_(std::move(address)),
      path_(UnixPath(address_)),
      shm_dir_(std::move(shm_dir)),
      identity_(std::move(identity)) {
  if (!path_) question_channel_ = NewPortChannel(address_, kGrpcReceiveBytes, *identity_);
}

absl::StatusOr<std::shared_ptr<grpc::Channel>> Endpoint::NewChannel(int max_receive_bytes) const {
  if (path_) return NewUnixChannel(*path_, max_receive_bytes);
  return NewPortChannel(address_, max_receive_bytes, *identity_);
}

absl::StatusOr<std::shared_ptr<Connection>> Endpoint::Connect(const Deadline& deadline) {
  std::unique_lock lock(mutex_);
  if (connection_ != nullptr && !connection_->broken()) return connection_;
  absl::StatusOr<std::shared_ptr<grpc::Channel>> question = question_channel_;
  lock.unlock();  // each caller has its own deadline
  if (path_) question = NewUnixChannel(*path_, kGrpcReceiveBytes);
  if (!question.ok()) return question.status();
  const auto stub = v1::SamplingService::NewStub(*question);
  grpc::ClientContext context;
  context.set_deadline(deadline.ForGrpc());
  identity_->Authorize(context);
  v1::GetServerInfoResponse info;
  const absl::Status status =
      EndOf(context, stub->GetServerInfo(&context, v1::GetServerInfoRequest(), &info));
  if (absl::IsDeadlineExceeded(status)) {  // gRPC does not always say whom it waited for
    return absl::DeadlineExceededError(absl::StrCat(status.message(), " (", address_, ")"));
  }
  if (!status.ok() && !absl::IsUnimplemented(status)) return status;

  lock.lock();
  if (connection_ != nullptr && !connection_->broken()) return connection_;
  auto channel = NewChannel(ReceiveBytes(info.max_message_bytes()));
  if (!channel.ok()) return channel.status();
  connection_ = std::make_shared<Connection>(*std::move(channel), /*reconnects=*/!path_, info,
                                             shm_dir_, identity_);
  question_channel_.reset();
  return connection_;
}

void Endpoint::Wait(std::chrono::nanoseconds pause) {
  if (path_) {  // connecting is one system call, which tells at once
    std::this_thread::sleep_for(pause);
    return;
  }
  std::unique_lock lock(mutex_);
  const auto channel = connection_ == nullptr ? question_channel_ : connection_->channel();
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

absl::StatusOr<bool> Endpoint::Serves(const std::string& service, const Deadline& deadline) const {
  const absl::StatusOr<std::shared_ptr<grpc::Channel>> channel = NewChannel(kGrpcReceiveBytes);
  if (!channel.ok()) return channel.status();
  grpc::ClientContext context;
  context.set_deadline(deadline.ForGrpc());
  identity_->Authorize(context);
  grpc::health::v1::HealthCheckRequest request;
  request.set_service(service);
  grpc::health::v1::HealthCheckResponse response;
  const auto stub = grpc::health::v1::Health::NewStub(*channel);
  const absl::Status status = EndOf(context, stub->Check(&context, request, &response));
  if (!status.ok()) return status;
  return response.status() == grpc::health::v1::HealthCheckResponse::SERVING;
}

Endpoints::Endpoints(const ClientOptions& options, std::shared_ptr<const Identity> identity)
    : options_(options) {
  for (const std::string& address : options_.addresses) {
    endpoints_.push_back(std::make_unique<Endpoint>(address, options_.shm_dir, identity));
  }
}

}  // namespace tokendraw
