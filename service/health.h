// The standard health protocol of gRPC. gRPC's own service would bring threads that wait for every
// connection of the process: they would take messages off the sockets and hand them to our queues.
#ifndef TOKENDRAW_SERVICE_HEALTH_H_
#define TOKENDRAW_SERVICE_HEALTH_H_

#include <grpcpp/server_context.h>

#include <mutex>
#include <string_view>
#include <unordered_set>

#include "grpc/health/v1/health.grpc.pb.h"

namespace tokendraw {

using HealthStatus = grpc::health::v1::HealthCheckResponse::ServingStatus;
// Watch is taken from a completion queue: a thread for each watcher would be many.
using HealthService =
    grpc::health::v1::Health::WithAsyncMethod_Watch<grpc::health::v1::Health::Service>;

class HealthWatch;

// The process (the empty name) is healthy while it answers; the sampling service is from
// SetServing(true) on.
class Health final : public HealthService {
 public:
  void SetServing(bool serving);
  bool serving() const;

  grpc::Status Check(grpc::ServerContext* context,
                     const grpc::health::v1::HealthCheckRequest* request,
                     grpc::health::v1::HealthCheckResponse* response) override;

  // Tells `watch` the status of `service` now, and at each change until Remove.
  void Add(HealthWatch* watch);
  void Remove(HealthWatch* watch);

 private:
  HealthStatus StatusOf(std::string_view service) const;  // with mutex_ held

  mutable std::mutex mutex_;  // guards what stands below
  std::unordered_set<HealthWatch*> watches_;
  bool serving_ = false;
};

}  // namespace tokendraw

#endif  // TOKENDRAW_SERVICE_HEALTH_H_
