#include "tests/bench/report.h"

#include "sampling/sampler.h"

namespace tokendraw::bench {

void PrintJson(std::FILE* file, std::span<const Result> results) {
  for (const Result& r : results) {
    std::fprintf(file,
                 "{\"chain\": \"%s\", \"rows\": \"%s\", \"vocab\": %d, \"threads\": %d, "
                 "\"floor_us\": %.1f, \"ours_us\": %.1f, \"peer\": \"llama.cpp\", "
                 "\"peer_us\": %.1f, \"ours_over_floor\": %.3f, \"peer_over_ours\": %.2f",
                 r.chain.c_str(), NameOf(r.rows), r.vocab_size, r.threads, r.floor_us, r.ours_us,
                 r.peer_us, r.OursOverFloor(), r.PeerOverOurs());
    if (r.threads > 1) std::fprintf(file, ", \"speedup\": %.2f", r.speedup);
    std::fprintf(file, "}\n");
  }
  std::fflush(file);
}

void PrintTable(std::FILE* file, std::span<const Result> results) {
  std::fprintf(file, "Microseconds per row, medians, %s. The peer is llama.cpp.\n\n",
               sampling::SimdTarget());
  std::fprintf(file, "%-56s %-7s %7s %7s %9s %9s %10s %10s %9s\n", "chain", "rows", "V", "threads",
               "floor", "ours", "peer", "ours/floor", "peer/ours");
  for (const Result& r : results) {
    std::fprintf(file, "%-56s %-7s %7d %7d %9.1f %9.1f %10.1f %10.2f %9.1f\n", r.chain.c_str(),
                 NameOf(r.rows), r.vocab_size, r.threads, r.floor_us, r.ours_us, r.peer_us,
                 r.OursOverFloor(), r.PeerOverOurs());
  }
}

}  // namespace tokendraw::bench
