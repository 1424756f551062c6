#include "service/server.h"

#include <grpcpp/ext/channelz_service_plugin.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "service/credentials.h"
#include "service/health_watch.h"
#include "service/sample_call.h"
#include "service/sample_stream.h"

namespace tokendraw {
namespace {

int ThreadCount(const Options& options) {
  if (options.threads > 0) return static_cast<int>(options.threads);
  return static_cast<int>(std::max(std::thread::hardware_concurrency(), 1u));
}

// Threads that move messages; each moves some GB/s, far more than one that computes rows.
int QueueCount(int compute_threads) {
  constexpr int kComputeThreadsPerQueue = 8;
  return (compute_threads - 1) / kComputeThreadsPerQueue + 1;
}

// What keeps connections in order. The clients of this project ping every 30 s of a call that is
// silent; gRPC takes pings that come faster than it allows for an attack.
void SetKeepalive(const Options& options, grpc::ServerBuilder& builder) {
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 60'000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 20'000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 10'000);
  if (options.max_connection_age_ms == 0) return;
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_MS,
                             static_cast<int>(options.max_connection_age_ms));
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_GRACE_MS,
                             static_cast<int>(options.grace_ms));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Server>> Server::Start(const Options& options, Log& log) {
  std::unique_ptr<SharedMemory> shared_memory;
  if (!options.shm_dir.empty()) {
    absl::StatusOr<std::unique_ptr<SharedMemory>> opened = SharedMemory::Open(options.shm_dir);
    if (!opened.ok()) return opened.status();
    shared_memory = *std::move(opened);
  }
  std::unique_ptr<TokenFile> token_file;
  if (!options.token_file.empty()) {
    absl::StatusOr<std::unique_ptr<TokenFile>> opened = TokenFile::Open(options.token_file);
    if (!opened.ok()) return opened.status();
    token_file = *std::move(opened);
  }
  std::unique_ptr<Server> server(
      new Server(options, std::move(shared_memory), std::move(token_file), log));
  if (absl::Status listening = server->Listen(); !listening.ok()) return listening;
  return server;
}

Server::Server(const Options& options, std::unique_ptr<SharedMemory> shared_memory,
               std::unique_ptr<TokenFile> token_file, Log& log)
    : options_(options),
      shared_memory_(std::move(shared_memory)),
      token_file_(std::move(token_file)),
      answered_(metrics_, log),
      dispatcher_(options_, ThreadCount(options_), shared_memory_.get(), metrics_),
      calls_(absl::Milliseconds(options_.write_timeout_ms), metrics_),
      service_(options_, dispatcher_, answered_, token_file_.get()) {}

Server::~Server() {
  metrics_server_.reset();
  if (server_ == nullptr) return;
  calls_.Drain();
  server_->Shutdown(std::chrono::system_clock::now());
  server_->Wait();
  queues_.clear();  // what they still hold belongs to the server
}

std::string Server::metrics_address() const {
  return metrics_server_ == nullptr ? "" : metrics_server_->address();
}

absl::Status Server::LockSockets() {
  for (const std::string& address : options_.listen) {
    const std::string path = UnixPath(address);
    if (path.empty()) continue;
    absl::StatusOr<std::unique_ptr<SocketLock>> lock = SocketLock::Take(path);
    if (!lock.ok()) return lock.status();
    locks_.push_back(*std::move(lock));
  }
  return absl::OkStatus();
}

absl::Status Server::OwnSockets() {
  for (const std::string& address : options_.listen) {
    const std::string path = UnixPath(address);
    if (path.empty() || options_.socket_owner.empty()) continue;
    if (absl::Status owned = SetOwner(path, options_.socket_owner); !owned.ok()) return owned;
  }
  return absl::OkStatus();
}

absl::Status Server::Listen() {
  const absl::StatusOr<uint32_t> socket_mode = ParseSocketMode(options_.socket_mode);
  if (!socket_mode.ok()) return socket_mode.status();
  const absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> credentials =
      MakeCredentials(options_);
  if (!credentials.ok()) return credentials.status();
  if (absl::Status locked = LockSockets(); !locked.ok()) return locked;

  if (options_.channelz) grpc::channelz::experimental::InitChannelzService();
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  builder.AddChannelArgument(GRPC_ARG_ENABLE_CHANNELZ, options_.channelz ? 1 : 0);
  SetKeepalive(options_, builder);
  // Two servers on one port would each get some of the callers.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.SetMaxReceiveMessageSize(static_cast<int>(options_.max_message_bytes));
  builder.SetMaxSendMessageSize(static_cast<int>(options_.max_message_bytes));
  // gRPC receives a message whole before anyone can refuse it: what all connections receive at a
  // time is bounded here. Over it gRPC ends streams with RESOURCE_EXHAUSTED. Connections need some
  // of it.
  constexpr int64_t kForConnections = int64_t{64} << 20;
  grpc::ResourceQuota receiving("tokendrawd");
  receiving.Resize(static_cast<size_t>(2 * options_.max_queued_bytes + kForConnections));
  builder.SetResourceQuota(receiving);
  builder.RegisterService(&service_);
  builder.RegisterService(&health_);
  for (int i = 0; i < QueueCount(dispatcher_.threads()); ++i) {
    queues_.push_back(std::make_unique<CallQueue>(builder.AddCompletionQueue()));
  }
  std::vector<int> ports(options_.listen.size(), 0);
  for (size_t i = 0; i < options_.listen.size(); ++i) {
    const bool is_path = !UnixPath(options_.listen[i]).empty();
    builder.AddListeningPort(options_.listen[i],
                             is_path ? grpc::InsecureServerCredentials() : *credentials, &ports[i]);
  }
  {
    const ScopedFileMode mode(*socket_mode);
    server_ = builder.BuildAndStart();
  }
  for (size_t i = 0; i < ports.size(); ++i) {
    const std::string& address = options_.listen[i];
    if (ports[i] == 0) {
      return absl::FailedPreconditionError(
          absl::StrCat("cannot listen on ", address, ": it is taken or not allowed"));
    }
    addresses_.push_back(UnixPath(address).empty()
                             ? absl::StrCat(address.substr(0, address.rfind(':') + 1), ports[i])
                             : address);
  }
  if (server_ == nullptr) return absl::InternalError("gRPC did not start");
  if (absl::Status owned = OwnSockets(); !owned.ok()) return owned;
  if (!options_.metrics_listen.empty()) {
    absl::StatusOr<std::unique_ptr<MetricsServer>> started =
        MetricsServer::Start(options_.metrics_listen, metrics_, [this] {
          return Gauges{.queued_rows = dispatcher_.queued_rows(),
                        .queued_bytes = dispatcher_.queued_bytes(),
                        .queued_rows_limit = options_.max_queued_rows,
                        .queued_bytes_limit = options_.max_queued_bytes,
                        .serving = health_.serving()};
        });
    if (!started.ok()) return started.status();
    metrics_server_ = *std::move(started);
  }
  for (const auto& queue : queues_) {
    const HotCalls hot{service_,
                       dispatcher_,
                       calls_,
                       *queue,
                       answered_,
                       token_file_.get(),
                       static_cast<size_t>(options_.max_in_flight)};
    SampleCall::Await(hot);
    SampleStream::Await(hot);
    queue->Start();
  }
  HealthWatch::Await(health_, *queues_.front());
  health_.SetServing(true);
  return absl::OkStatus();
}

void Server::RemoveSockets() {
  for (const std::string& address : addresses_) {
    const std::string path = UnixPath(address);
    if (!path.empty()) unlink(path.c_str());
  }
}

void Server::Drain() {
  health_.SetServing(false);
  std::this_thread::sleep_for(std::chrono::milliseconds(options_.drain_delay_ms));
  calls_.Drain();
  calls_.WaitUntilIdle(absl::Milliseconds(options_.grace_ms));
}

}  // namespace tokendraw
