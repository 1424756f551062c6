#include "sampling/filters.h"
#include "tests/sampling/testing.h"

namespace tokendraw::sampling {
namespace {

TEST(EtaCutoffTest, KeepsFromABoundThatFallsWithTheEntropy) {
  // H = 1.2130: sqrt(eta) * e^-H = 0.2973 * sqrt(eta), the smaller of the two from eta = 0.0884 on.
  const Row row = LogitsOf({0.5, 0.25, 0.125, 0.125});
  CheckFilter(Filter::kEtaCutoff, &Params::eta_cutoff, ApplyEtaCutoff,
              {
                  {"off", row, 0.0, {0, 1, 2, 3}},
                  {"transformers, first row", LogitsOf({1e-30, 0.1, 0.8, 0.1}), 0.0625, {1, 2, 3}},
                  {"transformers, second row", LogitsOf({0.01, 0.04, 0.9, 0.05}), 0.0625, {2}},
                  {"just below the last", row, 0.1767, {0, 1, 2, 3}},
                  {"just above the last", row, 0.1769, {0, 1}},
                  {"just below the second", row, 0.7070, {0, 1}},
                  {"just above the second", row, 0.7074, {0}},
                  {"eta itself is the bound", LogitsOf({0.98, 0.01, 0.01}), 0.0101, {0}},
                  {"eta itself, just below", LogitsOf({0.98, 0.01, 0.01}), 0.0099, {0, 1, 2}},
                  {"flat rows stay", {1, 1, 1, 1}, 0.99, {0, 1, 2, 3}},
                  {"min_keep above the cut", row, 0.7074, {0, 1, 2}, 3},
                  {"one token", {0}, 0.5, {0}},
              });
}

TEST(EtaCutoffTest, CutsLargeRow) { ExpectCutsLargeRow({.eta_cutoff = 1e-3}); }

}  // namespace
}  // namespace tokendraw::sampling
