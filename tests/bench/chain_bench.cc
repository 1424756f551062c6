// Times every chain on rows of several kinds and sizes. JSON lines to stdout; a table and the
// targets of the project to TABLE.
// Usage: chain_bench [--quick] LIBLLAMA ROWS.safetensors TABLE
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "tests/bench/measure.h"
#include "tests/bench/report.h"

namespace tokendraw::bench {
namespace {

constexpr int32_t kVocabSizes[] = {32000, 49152, 128256, 151936, 262144};
constexpr int32_t kThreadsVocab = 151936;
constexpr Repetitions kFull = {.ours = 60, .peer_every = 5, .batches = 15};
constexpr Repetitions kQuick = {.ours = 15, .peer_every = 5, .batches = 3};

int Main(std::vector<std::string> args) {
  const bool quick = !args.empty() && args.front() == "--quick";
  if (quick) args.erase(args.begin());
  if (args.size() != 3) {
    std::fprintf(stderr, "usage: chain_bench [--quick] LIBLLAMA ROWS.safetensors TABLE\n");
    return 2;
  }
#ifndef NDEBUG
  std::fprintf(stderr, "chain_bench: not a release build, the times mean little\n");
#endif
  const Repetitions& times = quick ? kQuick : kFull;
  const PeerApi api(args[0]);
  std::FILE* table = std::fopen(args[2].c_str(), "w");
  if (table == nullptr) {
    std::perror(args[2].c_str());
    return 2;
  }

  std::vector<Result> results;
  const auto add = [&](const std::vector<Result>& more) {
    PrintJson(stdout, more);
    results.insert(results.end(), more.begin(), more.end());
  };
  add(MeasureRows(RowSet(args[1]), api, times));
  for (const int32_t vocab_size : kVocabSizes) {
    for (const RowKind kind : {RowKind::kPeaked, RowKind::kFlat}) {
      const RowSet rows(kind, vocab_size);
      add(MeasureRows(rows, api, times));
      if (vocab_size == kThreadsVocab) add(MeasureThreads(rows, api, times));
    }
  }
  PrintTable(table, results);
  PrintTargets(table, results);
  return std::fclose(table) == 0 ? 0 : 2;
}

}  // namespace
}  // namespace tokendraw::bench

int main(int argc, char** argv) { return tokendraw::bench::Main({argv + 1, argv + argc}); }
