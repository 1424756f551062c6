#include <algorithm>
#include <optional>
#include <string>

#include "tests/bench/report.h"

namespace tokendraw::bench {
namespace {

// The vocabulary that the targets are set for; real rows have their own.
constexpr int32_t kTargetVocab = 151936;
constexpr int32_t kSmallest = 32000, kLargest = 262144;

using Results = std::span<const Result>;

// A ratio that is to be at most, or at least, `bound`.
struct Target {
  const char* text;
  enum { kAtMost, kAtLeast } direction;
  double bound;
  // Nothing where the target does not apply.
  std::optional<double> (*measure)(const Result& result, Results all);

  bool Holds(double value) const { return direction == kAtMost ? value <= bound : value >= bound; }
  bool IsWorse(double a, double b) const { return direction == kAtMost ? a > b : a < b; }
};

std::optional<double> If(bool applies, double value) {
  return applies ? std::optional(value) : std::nullopt;
}

bool Is(const Result& r, ChainKind kind) { return r.threads == 1 && r.kind == kind; }
bool Truncates(const Result& r) { return Is(r, ChainKind::kTopK) || Is(r, ChainKind::kTypical); }

const Result& Find(Results all, const Result& like, const std::string& chain, int32_t vocab_size) {
  return *std::find_if(all.begin(), all.end(), [&](const Result& r) {
    return r.chain == chain && r.rows == like.rows && r.vocab_size == vocab_size && r.threads == 1;
  });
}

bool Edits(const Result& r) { return Is(r, ChainKind::kEdited); }
bool HasHistory(const Result& r) { return r.chain.find("history") != std::string::npos; }
double OverFull(const Result& r, Results all) {
  return r.ours_us / Find(all, r, kFullChain, r.vocab_size).ours_us;
}

constexpr Target kTargets[] = {
    {"truncating chains / floor, peaked and real rows", Target::kAtMost, 1.3,
     [](const Result& r, Results) {
       return If(Truncates(r) && r.rows != RowKind::kFlat, r.OursOverFloor());
     }},
    {"truncating chains / floor, flat rows", Target::kAtMost, 2.5,
     [](const Result& r, Results) {
       return If(Truncates(r) && r.rows == RowKind::kFlat, r.OursOverFloor());
     }},
    {"draw only / floor", Target::kAtMost, 2.5,
     [](const Result& r, Results) { return If(Is(r, ChainKind::kDraw), r.OursOverFloor()); }},
    {"XTC alone / floor", Target::kAtMost, 3.5,
     [](const Result& r, Results) { return If(Is(r, ChainKind::kXtc), r.OursOverFloor()); }},
    {"llama.cpp / chains with typical_p", Target::kAtLeast, 100,
     [](const Result& r, Results) {
       return If(Is(r, ChainKind::kTypical) || Is(r, ChainKind::kEdited), r.PeerOverOurs());
     }},
    {"llama.cpp / XTC alone", Target::kAtLeast, 40,
     [](const Result& r, Results) { return If(Is(r, ChainKind::kXtc), r.PeerOverOurs()); }},
    {"llama.cpp / top_k 40 chain and greedy", Target::kAtLeast, 2,
     [](const Result& r, Results) {
       return If(Is(r, ChainKind::kTopK) || Is(r, ChainKind::kGreedy), r.PeerOverOurs());
     }},
    {"llama.cpp / draw only", Target::kAtLeast, 5,
     [](const Result& r, Results) { return If(Is(r, ChainKind::kDraw), r.PeerOverOurs()); }},
    {"time per token, V = 262,144 / 32,000", Target::kAtMost, 1.5,
     [](const Result& r, Results all) -> std::optional<double> {
       if (r.vocab_size != kLargest || r.threads != 1) return std::nullopt;
       const Result& small = Find(all, r, r.chain, kSmallest);
       return r.ours_us / kLargest / (small.ours_us / kSmallest);
     }},
    {"rows per second, two threads / one", Target::kAtLeast, 1.8,
     [](const Result& r, Results) { return If(r.threads == 2, r.speedup); }},
    {"full chain with bias or mask / without", Target::kAtMost, 1.2,
     [](const Result& r, Results all) { return If(Edits(r) && !HasHistory(r), OverFull(r, all)); }},
    {"full chain with bias, mask, history / without", Target::kAtMost, 1.2,
     [](const Result& r, Results all) { return If(Edits(r) && HasHistory(r), OverFull(r, all)); }},
};

struct Worst {
  double value;
  const Result* result;
};

template <typename Where>
std::optional<Worst> FindWorst(const Target& target, Results results, const Where& where) {
  std::optional<Worst> worst;
  for (const Result& result : results) {
    const std::optional<double> value = target.measure(result, results);
    if (!value || !where(result)) continue;
    if (!worst || target.IsWorse(*value, worst->value)) worst = {*value, &result};
  }
  return worst;
}

void PrintWorst(std::FILE* file, const Target& target, const char* where,
                const std::optional<Worst>& worst) {
  if (!worst) return;
  const Result& r = *worst->result;
  std::fprintf(file, "%-48s %s %5.1f  %-9s %8.2f  %-6s  %s, %s, V = %d\n", target.text,
               target.direction == Target::kAtMost ? "<=" : ">=", target.bound, where, worst->value,
               target.Holds(worst->value) ? "ok" : "MISSED", r.chain.c_str(), NameOf(r.rows),
               r.vocab_size);
}

}  // namespace

void PrintTargets(std::FILE* file, Results results) {
  std::fprintf(file,
               "\nTargets. \"set for\": V = %d and real rows; \"any V\": all of the above.\n\n",
               kTargetVocab);
  std::fprintf(file, "%-48s %-9s %-9s %8s  %-6s  %s\n", "target", "bound", "where", "worst", "",
               "measured on");
  for (const Target& target : kTargets) {
    PrintWorst(file, target, "set for", FindWorst(target, results, [](const Result& r) {
                 return r.vocab_size == kTargetVocab || r.rows == RowKind::kReal;
               }));
    PrintWorst(file, target, "any V",
               FindWorst(target, results, [](const Result&) { return true; }));
  }
}

}  // namespace tokendraw::bench
