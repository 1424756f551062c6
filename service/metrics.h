// Counters of what the server did, since it started.
#ifndef TOKENDRAW_SERVICE_METRICS_H_
#define TOKENDRAW_SERVICE_METRICS_H_

#include <prometheus/histogram.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "tokendraw/v1/sampling.pb.h"

namespace tokendraw {

enum class Rpc { kSampleTokens, kStreamSampleTokens, kValidateParams, kExplainRow, kGetServerInfo };
inline constexpr size_t kRpcCount = 5;
inline constexpr size_t kStatusCodeCount = 17;  // of gRPC, from OK to UNAUTHENTICATED

// "SampleTokens".
const char* NameOf(Rpc rpc);

struct Metrics {
  // By the payload of their message: rows, and bytes of the message on the wire.
  struct Payload {
    std::atomic<int64_t> messages{0};
    std::atomic<int64_t> rows{0};
    std::atomic<int64_t> bytes{0};
  };
  Payload inline_rows, values, shared_memory, candidates, shards;

  // Calls that were answered, of StreamSampleTokens messages: by the status they got.
  std::array<std::array<std::atomic<int64_t>, kStatusCodeCount>, kRpcCount> requests{};

  std::atomic<int64_t> rows{0};         // rows computed
  std::atomic<int64_t> tokens{0};       // tokens drawn from them
  std::atomic<int64_t> xtc_armed{0};    // draws whose XTC coin said to act
  std::atomic<int64_t> xtc_applied{0};  // draws from which XTC removed tokens
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

  // Seconds that messages wait until their first row is computed, and that a row takes. Tokens that
  // the filters leave of a row; one that none cut counts as its vocabulary, a greedy one as 1.
  prometheus::Histogram queue_wait_seconds{{1e-5, 1e-4, 1e-3, 5e-3, 0.02, 0.1, 0.5, 2, 10}};
  prometheus::Histogram row_compute_seconds{
      {1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 0.02, 0.1}};
  prometheus::Histogram kept_tokens{{1, 2, 5, 10, 20, 50, 100, 1000, 10'000, 100'000}};
};

}  // namespace tokendraw

#endif  // TOKENDRAW_SERVICE_METRICS_H_
