// The addresses of a client; private to the library.
#ifndef TOKENDRAW_CLIENT_ENDPOINT_H_
#define TOKENDRAW_CLIENT_ENDPOINT_H_

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/connection.h"
#include "client/identity.h"
#include "client/options.h"
#include "client/retry.h"

namespace tokendraw {

// One address. Thread-safe.
class Endpoint {
 public:
  // `shm_dir` as in ClientOptions.
  Endpoint(std::string address, std::string shm_dir, std::shared_ptr<const Identity> identity);

  // The connection, unless it is broken: then a new one. A new one asks the server for its limits
  // first: a channel's receive limit cannot be changed, so that question has a channel of its own.
  // Errors: those of GetServerInfo, save UNIMPLEMENTED, which means gRPC's own limits.
  absl::StatusOr<std::shared_ptr<Connection>> Connect(const Deadline& deadline);

  // Client::CheckHealth. Needs no connection: a server that drains gives none.
  absl::StatusOr<bool> Serves(const std::string& service, const Deadline& deadline) const;

  // Waits for `pause`, or less if the server comes up meanwhile. Not a sleep for a port: gRPC reads
  // its sockets while a thread waits for them, and otherwise every 5 s, too late for a new
  // connection.
  void Wait(std::chrono::nanoseconds pause);

 private:
  absl::StatusOr<std::shared_ptr<grpc::Channel>> NewChannel(int max_receive_bytes) const;

  const std::string address_;
  const std::optional<std::string> path_;  // of a unix socket
  const std::string shm_dir_;
  const std::shared_ptr<const Identity> identity_;
  std::mutex mutex_;
  // Guarded by mutex_.
  std::shared_ptr<grpc::Channel> question_channel_;  // of a port, until there is a connection
  std::shared_ptr<Connection> connection_;
};

// All addresses of a client, and whose turn it is. Thread-safe.
class Endpoints {
 public:
  Endpoints(const ClientOptions& options, std::shared_ptr<const Identity> identity);

  const ClientOptions& options() const { return options_; }
  std::size_t size() const { return endpoints_.size(); }

  // Where a call begins; its retries go on with turn + 1 and so on.
  std::size_t NextTurn() { return next_turn_.fetch_add(1, std::memory_order_relaxed); }
  Endpoint& At(std::size_t turn) { return *endpoints_[turn % endpoints_.size()]; }

 private:
  const ClientOptions options_;
  std::vector<std::unique_ptr<Endpoint>> endpoints_;
  std::atomic<std::size_t> next_turn_ = 0;
};

}  // namespace tokendraw

#endif  // TOKENDRAW_CLIENT_ENDPOINT_H_
