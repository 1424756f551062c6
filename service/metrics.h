// Counters of what the server did, since it started.
#ifndef TOKENDRAW_SERVICE_METRICS_H_
#define TOKENDRAW_SERVICE_METRICS_H_

#include <array>
#include <atomic>
#include <cstdint>

#include "tokendraw/v1/sampling.pb.h"

namespace tokendraw {

struct Metrics {
  // By the payload of their message: rows, and bytes of the message on the wire.
  struct Payload {
    std::atomic<int64_t> messages{0};
    std::atomic<int64_t> rows{0};
    std::atomic<int64_t> bytes{0};
  };
  Payload inline_rows, values, shared_memory, candidates, shards;

  std::atomic<int64_t> rows{0};  // rows computed
  // Of them, with an error, by RowErrorCode.
  std::array<std::atomic<int64_t>, v1::RowErrorCode_ARRAYSIZE> row_errors{};
  std::atomic<int64_t> compute_ns{0};     // of all threads, for rows
  std::atomic<int64_t> queue_wait_ns{0};  // of all messages, until their first row is computed
  std::atomic<int64_t> messages_here{0};  // computed by the thread that read them

  std::atomic<int64_t> messages_invalid{0};  // refused: they made no sense
  std::atomic<int64_t> messages_shed{0};     // refused: over a limit
  std::atomic<int64_t> messages_expired{0};  // their time passed, or their call ended, in the queue
  std::atomic<int64_t> streams{0};           // open now
  std::atomic<int64_t> streams_stalled{0};   // cancelled: the client took no reply for too long
};

}  // namespace tokendraw

#endif  // TOKENDRAW_SERVICE_METRICS_H_
