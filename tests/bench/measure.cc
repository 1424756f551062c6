#include "tests/bench/measure.h"

#include <algorithm>
#include <array>
#include <barrier>
#include <chrono>
#include <span>
#include <thread>

#include "sampling/kernels.h"
#include "sampling/row.h"
#include "sampling/sampler.h"

namespace tokendraw::bench {
namespace {

constexpr int kWarmUps = 2;

enum Contender { kFloor, kOurs, kPeer };
constexpr std::array kContenders = {kFloor, kOurs, kPeer};

// What one thread samples with. As in the server, all chains share one Sampler, and so its memory
// is in the cache; llama.cpp's token array is shared in the same way.
class Worker {
 public:
  Worker(const PeerApi& api, std::span<const Chain> chains, int32_t vocab_size) : chains_(chains) {
    for (const Chain& chain : chains) peers_.emplace_back(api, chain, vocab_size);
  }

  void Run(Contender contender, size_t chain, std::span<const float> logits) {
    switch (contender) {
      case kFloor:
        RunFloor(logits);
        break;
      case kOurs:
        Sample(chains_[chain], logits);
        break;
      case kPeer:
        peers_[chain].Sample(logits, tokens_);
        break;
    }
  }

 private:
  void Sample(const Chain& chain, std::span<const float> logits) {
    sampling::RowInput input = {
        .logits = {.data = logits.data(), .vocab_size = static_cast<int32_t>(logits.size())},
        .history = {.output_ids = chain.history},
        .key = {.seed = 1, .position = position_++}};
    if (!chain.allowed_mask.empty()) input.allowed_mask = chain.allowed_mask;
    sampler_.Sample(chain.params, input, result_);
  }

  // The largest logit, then the sum of exponentials.
  void RunFloor(std::span<const float> logits) {
    row_.Read({.data = logits.data(), .vocab_size = static_cast<int32_t>(logits.size())}, nullptr,
              {}, {});
    sampling::SumRow(row_.blocks(), row_.block_max(), {.kind = sampling::SumRequest::Kind::kExp});
  }

  std::span<const Chain> chains_;
  sampling::Sampler sampler_;
  sampling::RowResult result_;
  uint64_t position_ = 0;
  sampling::FloatRow row_;
  std::vector<PeerChain> peers_;
  std::vector<PeerApi::TokenData> tokens_;
};

class Stopwatch {
 public:
  double Microseconds() const {
    return std::chrono::duration<double, std::micro>(Clock::now() - start_).count();
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

double Median(std::vector<double> samples) {
  const auto middle = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
  std::nth_element(samples.begin(), middle, samples.end());
  return *middle;
}

using Samples = std::array<std::vector<double>, kContenders.size()>;  // by contender

Result Summary(const Chain& chain, const RowSet& rows, const Samples& samples) {
  return {.chain = chain.name,
          .kind = chain.kind,
          .rows = rows.kind(),
          .vocab_size = rows.vocab_size(),
          .floor_us = Median(samples[kFloor]),
          .ours_us = Median(samples[kOurs]),
          .peer_us = Median(samples[kPeer])};
}

// Worker t takes `count` rows from the t-th part of `rows` on, and all start at once. Returns the
// time over the number of rows.
double TimePerRow(std::span<Worker> workers, Contender contender, size_t chain, const RowSet& rows,
                  size_t first, size_t count) {
  std::barrier together(static_cast<std::ptrdiff_t>(workers.size()));
  Stopwatch stopwatch;
  const auto work = [&](size_t thread) {
    together.arrive_and_wait();
    if (thread == 0) stopwatch = Stopwatch();
    const size_t start = first + thread * rows.size() / workers.size();
    for (size_t i = 0; i < count; ++i) workers[thread].Run(contender, chain, rows.row(start + i));
    together.arrive_and_wait();
  };
  std::vector<std::jthread> others;
  for (size_t thread = 1; thread < workers.size(); ++thread) others.emplace_back(work, thread);
  work(0);
  return stopwatch.Microseconds() / static_cast<double>(workers.size() * count);
}

}  // namespace

std::vector<Result> MeasureRows(const RowSet& rows, const PeerApi& api, const Repetitions& times) {
  const std::vector<Chain> chains = MakeChains(rows.vocab_size());
  Worker worker(api, chains, rows.vocab_size());
  std::vector<Samples> samples(chains.size());
  size_t next = 0;
  for (int repetition = -kWarmUps; repetition < times.ours; ++repetition) {
    for (size_t chain = 0; chain < chains.size(); ++chain) {
      for (const Contender contender : kContenders) {
        if (contender == kPeer && repetition % times.peer_every != 0) continue;
        const std::span<const float> row = rows.row(next++);
        const Stopwatch stopwatch;
        worker.Run(contender, chain, row);
        const double elapsed = stopwatch.Microseconds();
        if (repetition >= 0) samples[chain][contender].push_back(elapsed);
      }
    }
  }
  std::vector<Result> results;
  for (size_t chain = 0; chain < chains.size(); ++chain) {
    results.push_back(Summary(chains[chain], rows, samples[chain]));
  }
  return results;
}

std::vector<Result> MeasureThreads(const RowSet& rows, const PeerApi& api,
                                   const Repetitions& times) {
  constexpr std::array<size_t, kContenders.size()> kRowsEach = {64, 64, 2};
  const std::vector<Chain> chains = MakeChains(rows.vocab_size());
  std::array workers = {Worker(api, chains, rows.vocab_size()),
                        Worker(api, chains, rows.vocab_size())};
  std::vector<Result> results;
  for (size_t chain = 0; chain < chains.size(); ++chain) {
    const std::string name = chains[chain].name;
    if (name != "draw" && name != "typical .9" && name != kFullChain) continue;
    std::array<Samples, 2> samples;  // on one thread, on two
    size_t next = 0;
    for (int batch = -kWarmUps; batch < times.batches; ++batch) {
      for (const Contender contender : kContenders) {
        for (size_t threads = 1; threads <= workers.size(); ++threads) {
          const size_t count = kRowsEach[contender];
          const double elapsed =
              TimePerRow(std::span(workers).first(threads), contender, chain, rows, next, count);
          next += count;
          if (batch >= 0) samples[threads - 1][contender].push_back(elapsed);
        }
      }
    }
    Result result = Summary(chains[chain], rows, samples[1]);
    result.threads = 2;
    result.speedup = Median(samples[0][kOurs]) / result.ours_us;
    results.push_back(result);
  }
  return results;
}

}  // namespace tokendraw::bench
