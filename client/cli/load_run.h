// Load for a server: workers that decode as fast as they can, or at a rate.
#ifndef TOKENDRAW_CLIENT_CLI_LOAD_RUN_H_
#define TOKENDRAW_CLIENT_CLI_LOAD_RUN_H_

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "client/client.h"
#include "tokendraw/v1/params.pb.h"

namespace tokendraw::cli {

struct LoadPlan {
  int workers = 1;        // threads, each with a stream
  std::int32_t rows = 1;  // of each step
  std::int32_t vocab_size = 0;
  int candidates = 0;  // 0: whole rows
  double rate = 0;     // steps a second of each worker; 0: as fast as they are answered
  std::chrono::milliseconds duration{0};
  std::int64_t steps = 0;  // of each worker; 0: until `duration` is over
  std::uint64_t seed = 0;  // of the logits, and the first of the rows'
  v1::SamplingParams params;
};

// What a run came to, or has so far. Thread-safe.
class LoadResult {
 public:
  void AddStep(std::chrono::nanoseconds latency, std::int32_t rows);
  void AddFault(const absl::Status& status);
  // The tokens of a worker, once it is done.
  void AddTokens(std::uint64_t hash) { tokens_ ^= hash; }

  std::int64_t steps() const;
  std::int64_t rows() const { return rows_; }
  // Steps that failed, retries included, by the name of their code.
  std::map<std::string, std::int64_t> faults() const;
  std::int64_t fault_count() const;
  // The latency that this share of the steps did not exceed. 0 if there are none.
  std::chrono::nanoseconds Percentile(double share) const;
  // Of all tokens by worker, step and row: runs of as many steps with one plan have the same,
  // whatever happened to the servers.
  std::uint64_t tokens() const { return tokens_; }

 private:
  mutable std::mutex mutex_;  // guards the latencies and the faults
  std::vector<std::int64_t> latencies_ns_;
  std::map<std::string, std::int64_t> faults_;
  std::atomic<std::int64_t> rows_ = 0;
  std::atomic<std::uint64_t> tokens_ = 0;
};

// Blocks until the plan is done. INVALID_ARGUMENT, RESOURCE_EXHAUSTED and the like if a worker
// cannot begin.
absl::Status RunLoad(const LoadPlan& plan, Client& client, LoadResult& result);

}  // namespace tokendraw::cli

#endif  // TOKENDRAW_CLIENT_CLI_LOAD_RUN_H_
