// The counters for Prometheus.
#ifndef TOKENDRAW_SERVICE_METRICS_SERVER_H_
#define TOKENDRAW_SERVICE_METRICS_SERVER_H_

#include <prometheus/collectable.h>

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "service/metrics.h"

namespace prometheus {
class Exposer;
}  // namespace prometheus

namespace tokendraw {

// What the server holds now, beside what it counts.
struct Gauges {
  int64_t queued_rows = 0;
  int64_t queued_bytes = 0;
  int64_t queued_rows_limit = 0;
  int64_t queued_bytes_limit = 0;
  bool serving = false;
};

// Answers GET /metrics. What it is made of must outlive it.
class MetricsServer {
 public:
  // Listens on `address`, HOST:PORT (port 0: any free one). FAILED_PRECONDITION if it is taken.
  static absl::StatusOr<std::unique_ptr<MetricsServer>> Start(const std::string& address,
                                                              const Metrics& metrics,
                                                              std::function<Gauges()> gauges);
  ~MetricsServer();

  // With the port that was bound.
  const std::string& address() const { return address_; }

 private:
  MetricsServer(const std::string& address, std::shared_ptr<prometheus::Collectable> metrics);

  const std::shared_ptr<prometheus::Collectable> metrics_;
  const std::unique_ptr<prometheus::Exposer> exposer_;
  const std::string address_;
};

}  // namespace tokendraw

#endif  // TOKENDRAW_SERVICE_METRICS_SERVER_H_
