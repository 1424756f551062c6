#include "service/metrics_server.h"

#include <prometheus/exposer.h>
#include <prometheus/metric_family.h>

#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "sampling/sampler.h"
#include "service/version.h"

namespace tokendraw {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using Labels = std::vector<ClientMetric::Label>;

MetricFamily FamilyOf(const char* name, const char* help, MetricType type,
                      std::vector<ClientMetric> metrics = {}) {
  MetricFamily family;
  family.name = name;
  family.help = help;
  family.type = type;
  family.metric = std::move(metrics);
  return family;
}

class Collector final : public prometheus::Collectable {
 public:
  Collector(const Metrics& metrics, std::function<Gauges()> gauges)
      : metrics_(metrics), gauges_(std::move(gauges)) {}

  std::vector<MetricFamily> Collect() const override {
    std::vector<MetricFamily> families;
    CollectRequests(families);
    CollectRows(families);
    CollectGauges(families);
    const auto histogram = [&](const char* name, const char* help,
                               const prometheus::Histogram& from) {
      families.push_back(FamilyOf(name, help, MetricType::Histogram, {from.Collect()}));
    };
    histogram("tokendraw_queue_wait_seconds", "From a message's coming to its first row.",
              metrics_.queue_wait_seconds);
    histogram("tokendraw_row_compute_seconds", "One row, on its thread.",
              metrics_.row_compute_seconds);
    histogram("tokendraw_kept_tokens", "Tokens that the filters left of a row.",
              metrics_.kept_tokens);
    return families;
  }

 private:
  static ClientMetric CounterOf(Labels labels, int64_t value) {
    ClientMetric metric;
    metric.label = std::move(labels);
    metric.counter.value = static_cast<double>(value);
    return metric;
  }

  static void AddCounter(const char* name, const char* help, int64_t value,
                         std::vector<MetricFamily>& families) {
    families.push_back(FamilyOf(name, help, MetricType::Counter, {CounterOf({}, value)}));
  }

  static void AddGauge(const char* name, const char* help, Labels labels, int64_t value,
                       std::vector<MetricFamily>& families) {
    ClientMetric metric;
    metric.label = std::move(labels);
    metric.gauge.value = static_cast<double>(value);
    families.push_back(FamilyOf(name, help, MetricType::Gauge, {metric}));
  }

  void CollectRequests(std::vector<MetricFamily>& families) const {
    MetricFamily requests =
        FamilyOf("tokendraw_requests_total",
                 "Calls answered, of StreamSampleTokens messages, by status.", MetricType::Counter);
    for (size_t rpc = 0; rpc < kRpcCount; ++rpc) {
      for (size_t code = 0; code < kStatusCodeCount; ++code) {
        const int64_t count = metrics_.requests[rpc][code];
        if (count == 0 && code != 0) continue;
        requests.metric.push_back(
            CounterOf({{"rpc", NameOf(static_cast<Rpc>(rpc))},
                       {"code", absl::StatusCodeToString(static_cast<absl::StatusCode>(code))}},
                      count));
      }
    }
    families.push_back(std::move(requests));

    MetricFamily messages = FamilyOf("tokendraw_payload_messages_total",
                                     "Messages admitted, by payload.", MetricType::Counter);
    MetricFamily rows =
        FamilyOf("tokendraw_payload_rows_total", "Rows of those.", MetricType::Counter);
    MetricFamily bytes =
        FamilyOf("tokendraw_payload_bytes_total", "Their bytes on the wire.", MetricType::Counter);
    const std::pair<const char*, const Metrics::Payload*> payloads[] = {
        {"inline", &metrics_.inline_rows},
        {"values", &metrics_.values},
        {"shared_memory", &metrics_.shared_memory},
        {"candidates", &metrics_.candidates},
        {"shards", &metrics_.shards}};
    for (const auto& [name, payload] : payloads) {
      const Labels labels = {{"payload", name}};
      messages.metric.push_back(CounterOf(labels, payload->messages));
      rows.metric.push_back(CounterOf(labels, payload->rows));
      bytes.metric.push_back(CounterOf(labels, payload->bytes));
    }
    for (MetricFamily* family : {&messages, &rows, &bytes}) families.push_back(std::move(*family));

    AddCounter("tokendraw_messages_invalid_total", "Messages refused: they made no sense.",
               metrics_.messages_invalid, families);
    AddCounter("tokendraw_messages_shed_total", "Messages refused: over a limit.",
               metrics_.messages_shed, families);
    AddCounter("tokendraw_messages_expired_total",
               "Messages whose time passed, or whose call ended, in the queue.",
               metrics_.messages_expired, families);
    AddCounter("tokendraw_streams_stalled_total",
               "Streams cancelled because their client took no replies.", metrics_.streams_stalled,
               families);
  }

  void CollectRows(std::vector<MetricFamily>& families) const {
    AddCounter("tokendraw_rows_total", "Rows computed.", metrics_.rows, families);
    AddCounter("tokendraw_tokens_total", "Tokens drawn.", metrics_.tokens, families);
    AddCounter("tokendraw_xtc_armed_total", "Draws whose XTC coin said to act.", metrics_.xtc_armed,
               families);
    AddCounter("tokendraw_xtc_fired_total", "Draws from which XTC removed tokens.",
               metrics_.xtc_applied, families);
    MetricFamily errors = FamilyOf("tokendraw_row_errors_total", "Rows without a token, by code.",
                                   MetricType::Counter);
    for (int code = 1; code < v1::RowErrorCode_ARRAYSIZE; ++code) {
      const std::string name = v1::RowErrorCode_Name(static_cast<v1::RowErrorCode>(code));
      errors.metric.push_back(CounterOf({{"code", name.substr(sizeof("ROW_ERROR_CODE_") - 1)}},
                                        metrics_.row_errors[static_cast<size_t>(code)]));
    }
    families.push_back(std::move(errors));
  }

  void CollectGauges(std::vector<MetricFamily>& families) const {
    const Gauges now = gauges_();
    AddGauge("tokendraw_streams", "Streams open now.", {}, metrics_.streams, families);
    AddGauge("tokendraw_queued_rows", "Rows held now.", {}, now.queued_rows, families);
    AddGauge("tokendraw_queued_bytes", "Request bytes held now.", {}, now.queued_bytes, families);
    AddGauge("tokendraw_queued_rows_limit", "Most rows held: --max_queued_rows.", {},
             now.queued_rows_limit, families);
    AddGauge("tokendraw_queued_bytes_limit", "Most request bytes held: --max_queued_bytes.", {},
             now.queued_bytes_limit, families);
    AddGauge("tokendraw_serving", "1 while health says SERVING.", {}, now.serving ? 1 : 0,
             families);
    AddGauge("tokendraw_build_info", "1.",
             {{"version", kVersion},
              {"semantics_version", sampling::kSemanticsVersion},
              {"simd_target", sampling::SimdTarget()}},
             1, families);
  }

  const Metrics& metrics_;
  const std::function<Gauges()> gauges_;
};

}  // namespace

const char* NameOf(Rpc rpc) {
  switch (rpc) {
    case Rpc::kSampleTokens:
      return "SampleTokens";
    case Rpc::kStreamSampleTokens:
      return "StreamSampleTokens";
    case Rpc::kValidateParams:
      return "ValidateParams";
    case Rpc::kExplainRow:
      return "ExplainRow";
    case Rpc::kGetServerInfo:
      return "GetServerInfo";
  }
  return "";
}

absl::StatusOr<std::unique_ptr<MetricsServer>> MetricsServer::Start(
    const std::string& address, const Metrics& metrics, std::function<Gauges()> gauges) {
  auto collector = std::make_shared<Collector>(metrics, std::move(gauges));
  try {
    return std::unique_ptr<MetricsServer>(new MetricsServer(address, std::move(collector)));
  } catch (const std::exception&) {  // what its HTTP server throws when it cannot bind
    return absl::FailedPreconditionError(
        absl::StrCat("cannot listen on ", address, ": it is taken or not allowed"));
  }
}

MetricsServer::MetricsServer(const std::string& address,
                             std::shared_ptr<prometheus::Collectable> metrics)
    : metrics_(std::move(metrics)),
      exposer_(std::make_unique<prometheus::Exposer>(address)),
      address_(absl::StrCat(address.substr(0, address.rfind(':') + 1),
                            exposer_->GetListeningPorts().front())) {
  exposer_->RegisterCollectable(metrics_);
}

MetricsServer::~MetricsServer() = default;

}  // namespace tokendraw
