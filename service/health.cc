#include "service/health.h"

#include "service/health_watch.h"
#include "tokendraw/v1/sampling.grpc.pb.h"

namespace tokendraw {

using grpc::health::v1::HealthCheckResponse;

void Health::SetServing(bool serving) {
  const std::lock_guard lock(mutex_);
  serving_ = serving;
  for (HealthWatch* watch : watches_) watch->Tell(StatusOf(watch->service()));
}

bool Health::serving() const {
  const std::lock_guard lock(mutex_);
  return serving_;
}

grpc::Status Health::Check(grpc::ServerContext*,
                           const grpc::health::v1::HealthCheckRequest* request,
                           HealthCheckResponse* response) {
  const std::lock_guard lock(mutex_);
  response->set_status(StatusOf(request->service()));
  if (response->status() == HealthCheckResponse::SERVICE_UNKNOWN) {
    return {grpc::StatusCode::NOT_FOUND, "service: this server has none of that name"};
  }
  return grpc::Status::OK;
}

void Health::Add(HealthWatch* watch) {
  const std::lock_guard lock(mutex_);
  watches_.insert(watch);
  watch->Tell(StatusOf(watch->service()));
}

void Health::Remove(HealthWatch* watch) {
  const std::lock_guard lock(mutex_);
  watches_.erase(watch);
}

HealthStatus Health::StatusOf(std::string_view service) const {
  if (service.empty()) return HealthCheckResponse::SERVING;
  if (service != v1::SamplingService::service_full_name()) {
    return HealthCheckResponse::SERVICE_UNKNOWN;
  }
  return serving_ ? HealthCheckResponse::SERVING : HealthCheckResponse::NOT_SERVING;
}

}  // namespace tokendraw
