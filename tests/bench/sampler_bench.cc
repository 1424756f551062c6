// Times two chains, and each with one more sampler, of those that the chains of chain_bench have
// not, in turn: the plain chain, which leaves little for what comes after, and a draw, of which the
// sampler sees the whole row. JSON lines to stdout, and a table with the verdicts, which are on the
// plain chain, to stderr.
// Usage: sampler_bench [--quick] ROWS.safetensors
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "sampling/sampler.h"
#include "tests/bench/rows.h"

namespace tokendraw::bench {
namespace {

using sampling::Params;

constexpr int32_t kVocabSize = 151936;
constexpr int kWarmUps = 3;

struct Contest {
  const char* name;
  double bound;  // times what the plain chain takes without it
  void (*turn_on)(Params& params);
};

constexpr Contest kContests[] = {
    {"dynatemp_range", 2, [](Params& p) { p.dynatemp_range = 0.5; }},
    {"smoothing_factor", 2, [](Params& p) { p.smoothing_factor = 0.3; }},
    {"smoothing_curve", 2,
     [](Params& p) {
       p.smoothing_factor = 0.3;
       p.smoothing_curve = 2;
     }},
    {"p_less_norm", 2, [](Params& p) { p.p_less_norm = true; }},
    {"top_h", 2, [](Params& p) { p.top_h = 0.4; }},
    {"top_a", 2, [](Params& p) { p.top_a = 0.2; }},
    {"tfs_z", 4, [](Params& p) { p.tfs_z = 0.95; }},
    {"epsilon_cutoff", 2, [](Params& p) { p.epsilon_cutoff = 0.001; }},
    {"eta_cutoff", 2, [](Params& p) { p.eta_cutoff = 0.002; }},
    {"mirostat 1", 4, [](Params& p) { p.mirostat = 1; }},
    {"mirostat 2", 2, [](Params& p) { p.mirostat = 2; }},
    {"adaptive_target", 2, [](Params& p) { p.adaptive_target = 0.3; }},
    {"no_repeat_ngram_size", 2, [](Params& p) { p.no_repeat_ngram_size = 3; }},
    {"bad_token_sequences", 2,
     [](Params& p) {
       for (int32_t i = 0; i < 100; ++i) p.bad_token_sequences.push_back({i, i + 1, i + 2});
     }},
    {"min_tokens", 2,
     [](Params& p) {
       p.min_tokens = 1000;
       p.stop_ids = {0, 1, 2};
     }},
    {"allowed_ids", 2,
     [](Params& p) {
       for (int32_t i = 0; i < 1000; ++i) p.allowed_ids.push_back(i * 40);
     }},
    {"dry_breaker_sequences", 2,
     [](Params& p) {
       p.dry_multiplier = 0.8f;
       for (int32_t i = 0; i < 20; ++i) p.dry_breaker_sequences.push_back({i, i + 1});
     }},
    {"repetition_penalty_slope", 2,
     [](Params& p) {
       p.repetition_penalty = 1.1f;
       p.repetition_penalty_slope = 3;
     }},
};

Params Draw() { return {.temperature = 0.8}; }

Params PlainChain() {
  return {.temperature = 0.8,
          .top_p = 0.95,
          .min_p = 0.05,
          .typical_p = 0.9,
          .xtc_probability = 0.5,
          .xtc_threshold = 0.1};
}

double Median(std::vector<double> samples) {
  std::ranges::nth_element(samples, samples.begin() + static_cast<ptrdiff_t>(samples.size() / 2));
  return samples[samples.size() / 2];
}

class Bench {
 public:
  Bench(const RowSet& rows, int repetitions) : rows_(rows), repetitions_(repetitions) {
    for (int32_t i = 0; i < 512; ++i) history_.push_back(i * 7 % 300 * 100);
  }

  // Whether all bounds held.
  bool Run() {
    std::vector<Params> chains = {PlainChain(), Draw()};
    for (const Contest& contest : kContests) {
      contest.turn_on(chains.emplace_back(PlainChain()));
      contest.turn_on(chains.emplace_back(Draw()));
    }
    std::vector<std::vector<double>> samples(chains.size());
    for (int repetition = -kWarmUps; repetition < repetitions_; ++repetition) {
      for (size_t chain = 0; chain < chains.size(); ++chain) {
        const double elapsed = Time(chains[chain]);
        if (repetition >= 0) samples[chain].push_back(elapsed);
      }
    }
    bool held = true;
    const double plain = Median(samples[0]), draw = Median(samples[1]);
    for (size_t i = 0; i < std::size(kContests); ++i) {
      held &=
          Report(kContests[i], plain, Median(samples[2 * i + 2]), draw, Median(samples[2 * i + 3]));
    }
    return held;
  }

 private:
  double Time(const Params& params) {
    using Clock = std::chrono::steady_clock;
    const std::span<const float> row = rows_.row(next_++);
    const sampling::RowInput input = {
        .logits = {.data = row.data(), .vocab_size = static_cast<int32_t>(row.size())},
        .history = {.output_ids = history_},
        .key = {.seed = 1, .position = next_}};
    const Clock::time_point start = Clock::now();
    sampler_.Sample(params, input, result_);
    return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
  }

  bool Report(const Contest& contest, double plain, double plain_with, double draw,
              double draw_with) const {
    std::printf(
        "{\"sampler\": \"%s\", \"rows\": \"%s\", \"vocab\": %d, \"plain_us\": %.1f, "
        "\"plain_with_us\": %.1f, \"draw_us\": %.1f, \"draw_with_us\": %.1f}\n",
        contest.name, NameOf(rows_.kind()), rows_.vocab_size(), plain, plain_with, draw, draw_with);
    const bool holds = plain_with / plain <= contest.bound;
    std::fprintf(stderr,
                 "%-26s %-7s plain %7.1f us, %5.2f x  <= %g  %-6s  draw %7.1f us, %5.2f x\n",
                 contest.name, NameOf(rows_.kind()), plain, plain_with / plain, contest.bound,
                 holds ? "ok" : "MISSED", draw, draw_with / draw);
    return holds;
  }

  const RowSet& rows_;
  const int repetitions_;
  std::vector<int32_t> history_;
  sampling::Sampler sampler_;
  sampling::RowResult result_;
  uint64_t next_ = 0;
};

int Main(std::vector<std::string> args) {
  const bool quick = !args.empty() && args.front() == "--quick";
  if (quick) args.erase(args.begin());
  if (args.size() != 1) {
    std::fprintf(stderr, "usage: sampler_bench [--quick] ROWS.safetensors\n");
    return 2;
  }
  const int repetitions = quick ? 15 : 60;
  std::fprintf(stderr, "Medians, %s.\n", sampling::SimdTarget());
  bool held = true;
  held &= Bench(RowSet(args[0]), repetitions).Run();
  for (const RowKind kind : {RowKind::kPeaked, RowKind::kFlat}) {
    held &= Bench(RowSet(kind, kVocabSize), repetitions).Run();
  }
  return held ? 0 : 1;
}

}  // namespace
}  // namespace tokendraw::bench

int main(int argc, char** argv) { return tokendraw::bench::Main({argv + 1, argv + argc}); }
