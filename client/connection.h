// The channels below the client; private to the library.
#ifndef TOKENDRAW_CLIENT_CONNECTION_H_
#define TOKENDRAW_CLIENT_CONNECTION_H_

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/options.h"
#include "client/retry.h"
#include "tokendraw/v1/sampling.grpc.pb.h"

namespace tokendraw {

// A server that has told its limits.
struct Connection {
  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<v1::SamplingService::Stub> stub;
  // Largest message that the server takes, in bytes; 0 if it did not say.
  std::int64_t max_message_bytes = 0;
  // Messages of one stream that it takes at a time. >= 1.
  std::size_t max_in_flight = 1;

  // RESOURCE_EXHAUSTED with both numbers if `request` is larger than the server takes.
  absl::Status CheckSize(const google::protobuf::Message& request) const;
};

// One address. Thread-safe.
class Endpoint {
 public:
  explicit Endpoint(std::string address);

  // The connection. The first call asks the server for its limits: a channel's receive limit cannot
  // be changed, so that question has a channel of its own. Errors: those of GetServerInfo, save
  // UNIMPLEMENTED, which means gRPC's own limits.
  absl::StatusOr<std::shared_ptr<const Connection>> Connect(const Deadline& deadline);

  // Waits for `pause`, or less if the server comes up meanwhile. Not a sleep: gRPC reads its
  // sockets while a thread waits for them, and otherwise every 5 s, too late for a new connection.
  void Wait(std::chrono::nanoseconds pause);

 private:
  std::shared_ptr<grpc::Channel> NewChannel(int max_receive_bytes) const;

  const std::string address_;
  std::mutex mutex_;
  // Guarded by mutex_. The first is there until the second is.
  std::shared_ptr<grpc::Channel> question_channel_;
  std::shared_ptr<const Connection> connection_;
};

// All addresses of a client, and whose turn it is. Thread-safe.
class Endpoints {
 public:
  explicit Endpoints(const ClientOptions& options);

  const ClientOptions& options() const { return options_; }

  // Where a call begins; its retries go on with turn + 1 and so on.
  std::size_t NextTurn() { return next_turn_.fetch_add(1, std::memory_order_relaxed); }
  Endpoint& At(std::size_t turn) { return *endpoints_[turn % endpoints_.size()]; }

 private:
  const ClientOptions options_;
  std::vector<std::unique_ptr<Endpoint>> endpoints_;
  std::atomic<std::size_t> next_turn_ = 0;
};

}  // namespace tokendraw

#endif  // TOKENDRAW_CLIENT_CONNECTION_H_
