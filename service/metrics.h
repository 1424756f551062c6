// Counters of what the server did, since it started.
#ifndef TOKENDRAW_SERVICE_METRICS_H_
#define TOKENDRAW_SERVICE_METRICS_H_

#include <atomic>
#include <cstdint>

namespace tokendraw {

struct Metrics {
  std::atomic<int64_t> rows{0};              // rows computed
  std::atomic<int64_t> row_errors{0};        // of them, with an error
  std::atomic<int64_t> messages_invalid{0};  // refused: they made no sense
  std::atomic<int64_t> messages_shed{0};     // refused: over a limit
  std::atomic<int64_t> messages_expired{0};  // their time passed, or their call ended, in the queue
  std::atomic<int64_t> streams{0};           // open now
  std::atomic<int64_t> streams_stalled{0};   // cancelled: the client took no reply for too long
};

}  // namespace tokendraw

#endif  // TOKENDRAW_SERVICE_METRICS_H_
