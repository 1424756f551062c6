// The chains that are measured.
#ifndef TOKENDRAW_TESTS_BENCH_CHAINS_H_
#define TOKENDRAW_TESTS_BENCH_CHAINS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sampling/params.h"

namespace tokendraw::bench {

// By what its targets are.
enum class ChainKind { kGreedy, kDraw, kTopK, kTypical, kXtc, kEdited };

struct Chain {
  const char* name;
  ChainKind kind;
  sampling::Params params;
  std::vector<std::byte> allowed_mask;  // empty: none
  std::vector<int32_t> history;
};

// The chain that those of kind kEdited repeat, with edits before it.
inline constexpr char kFullChain[] = "full";

std::vector<Chain> MakeChains(int32_t vocab_size);

}  // namespace tokendraw::bench

#endif  // TOKENDRAW_TESTS_BENCH_CHAINS_H_
