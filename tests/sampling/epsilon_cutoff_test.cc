#include "sampling/filters.h"
#include "tests/sampling/testing.h"

namespace tokendraw::sampling {
namespace {

TEST(EpsilonCutoffTest, KeepsFromAProbability) {
  const Row row = LogitsOf({0.4, 0.299, 0.101, 0.2});
  CheckFilter(Filter::kEpsilonCutoff, &Params::epsilon_cutoff, ApplyEpsilonCutoff,
              {
                  {"off", row, 0.0, {0, 1, 2, 3}},
                  {"transformers, first row", LogitsOf({0.87, 0.099, 0.001, 0.03}), 0.1, {0}},
                  {"transformers, second row", row, 0.1, {0, 1, 2, 3}},
                  {"just above the last", row, 0.102, {0, 1, 3}},
                  {"just below the third", row, 0.199, {0, 1, 3}},
                  {"just above the third", row, 0.201, {0, 1}},
                  {"above the largest", row, 0.9, {0}},
                  {"above all of a flat row", {1, 1, 1, 1}, 0.9, {0, 1, 2, 3}},
                  {"masked tokens stay out", {-kInf, 0, -kInf, -3}, 0.04, {1, 3}},
                  {"min_keep above the cut", row, 0.9, {0, 1, 3}, 3},
                  {"one token", {0}, 0.5, {0}},
              });
}

TEST(EpsilonCutoffTest, CutsLargeRow) { ExpectCutsLargeRow({.epsilon_cutoff = 1e-3}); }

}  // namespace
}  // namespace tokendraw::sampling
