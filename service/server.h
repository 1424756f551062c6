// The life of a server: start, serve, drain.
#ifndef TOKENDRAW_SERVICE_SERVER_H_
#define TOKENDRAW_SERVICE_SERVER_H_

#include <grpcpp/server.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "service/active_calls.h"
#include "service/answered.h"
#include "service/call_queue.h"
#include "service/dispatcher.h"
#include "service/health.h"
#include "service/listener.h"
#include "service/log.h"
#include "service/metrics.h"
#include "service/metrics_server.h"
#include "service/options.h"
#include "service/sampling_service.h"
#include "service/shared_memory.h"
#include "service/token_file.h"

namespace tokendraw {

class Server {
 public:
  // Listens on all of options.listen, or on none. FAILED_PRECONDITION names the address that is
  // taken, INVALID_ARGUMENT the flag that makes no sense. `log` must outlive the server.
  static absl::StatusOr<std::unique_ptr<Server>> Start(const Options& options, Log& log);
  // Cuts off the calls that still run. A call that arrives at this moment may end as CANCELLED.
  ~Server();

  // The addresses, with the ports that were bound.
  const std::vector<std::string>& addresses() const { return addresses_; }
  // Of the Prometheus endpoint; empty if there is none.
  std::string metrics_address() const;
  const Metrics& metrics() const { return metrics_; }

  // Health says NOT_SERVING; after drain_delay_ms new calls are refused as UNAVAILABLE and streams
  // end when their messages in flight are answered. Blocks until no call is left, at most grace_ms.
  // Must not run on a thread of gRPC.
  void Drain();
  // Removes the socket files.
  void RemoveSockets();

 private:
  Server(const Options& options, std::unique_ptr<SharedMemory> shared_memory,
         std::unique_ptr<TokenFile> token_file, Log& log);

  absl::Status Listen();
  absl::Status LockSockets();
  absl::Status OwnSockets();

  const Options options_;
  Metrics metrics_;
  std::vector<std::unique_ptr<SocketLock>> locks_;
  std::vector<std::string> addresses_;
  const std::unique_ptr<SharedMemory> shared_memory_;
  const std::unique_ptr<TokenFile> token_file_;
  Answered answered_;
  Dispatcher dispatcher_;
  ActiveCalls calls_;
  SamplingServiceImpl service_;
  Health health_;
  std::vector<std::unique_ptr<CallQueue>> queues_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<MetricsServer> metrics_server_;
};

}  // namespace tokendraw

#endif  // TOKENDRAW_SERVICE_SERVER_H_
