// Times per row: the floor, ours and llama.cpp's, in turn.
#ifndef TOKENDRAW_TESTS_BENCH_MEASURE_H_
#define TOKENDRAW_TESTS_BENCH_MEASURE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tests/bench/chains.h"
#include "tests/bench/peer.h"
#include "tests/bench/rows.h"

namespace tokendraw::bench {

// Medians, in microseconds.
struct Result {
  std::string chain;
  ChainKind kind;
  RowKind rows;
  int32_t vocab_size = 0;
  int threads = 1;
  double floor_us = 0;
  double ours_us = 0;
  double peer_us = 0;
  double speedup = 1;  // rows per second, over those of one thread

  double OursOverFloor() const { return ours_us / floor_us; }
  double PeerOverOurs() const { return peer_us / ours_us; }
};

struct Repetitions {
  int ours;
  int peer_every;  // llama.cpp is timed in each peer_every-th repetition
  int batches;     // of MeasureThreads
};

// Every chain, one row at a time on one thread.
std::vector<Result> MeasureRows(const RowSet& rows, const PeerApi& api, const Repetitions& times);

// Some chains on two threads, beside the same work on one.
std::vector<Result> MeasureThreads(const RowSet& rows, const PeerApi& api,
                                   const Repetitions& times);

}  // namespace tokendraw::bench

#endif  // TOKENDRAW_TESTS_BENCH_MEASURE_H_
