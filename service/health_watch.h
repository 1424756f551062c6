// One call of Health.Watch.
#ifndef TOKENDRAW_SERVICE_HEALTH_WATCH_H_
#define TOKENDRAW_SERVICE_HEALTH_WATCH_H_

#include <grpcpp/server_context.h>
#include <grpcpp/support/async_stream.h>

#include <mutex>
#include <string>

#include "service/call_queue.h"
#include "service/health.h"

namespace tokendraw {

// Waits for a client; when one calls, lets the next object wait. Writes the status until the client
// leaves or the server ends; of several changes while a write lasts, the last. Deletes itself.
class HealthWatch {
 public:
  // Both must outlive the call.
  static void Await(Health& health, CallQueue& queue);

  const std::string& service() const { return request_.service(); }

  void Tell(HealthStatus status);

 private:
  HealthWatch(Health& health, CallQueue& queue) : health_(health), queue_(queue) {}

  void OnCalled(bool ok);
  void OnWritten();
  void OnDone();
  // Starts whatever may start now: the next write, or the end. With mutex_ held.
  void Advance();

  Health& health_;
  CallQueue& queue_;
  const CallQueue::Use use_{queue_};
  grpc::ServerContext context_;
  grpc::ServerAsyncWriter<grpc::health::v1::HealthCheckResponse> writer_{&context_};
  grpc::health::v1::HealthCheckRequest request_;

  std::mutex mutex_;  // guards what stands below
  HealthStatus status_ = grpc::health::v1::HealthCheckResponse::UNKNOWN;
  HealthStatus written_status_ = grpc::health::v1::HealthCheckResponse::UNKNOWN;
  bool writing_ = false;
  bool done_with_ = false;

  Operation called_{[this](bool ok) { OnCalled(ok); }};
  Operation written_{[this](bool) { OnWritten(); }};
  Operation done_{[this](bool) { OnDone(); }};
  Operation sent_{[this](bool) { delete this; }};
};

}  // namespace tokendraw

#endif  // TOKENDRAW_SERVICE_HEALTH_WATCH_H_
