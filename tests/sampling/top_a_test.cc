#include "sampling/filters.h"
#include "tests/sampling/testing.h"

namespace tokendraw::sampling {
namespace {

TEST(TopATest, KeepsFromAShareOfTheSquareOfTheLargest) {
  const Row row = LogitsOf({0.5, 0.3, 0.15, 0.05});  // of 0.5^2: 2 1.2 0.6 0.2
  CheckFilter(Filter::kTopA, &Params::top_a, ApplyTopA,
              {
                  {"off", row, 0.0, {0, 1, 2, 3}},
                  {"just below the last", row, 0.199, {0, 1, 2, 3}},
                  {"just above the last", row, 0.201, {0, 1, 2}},
                  {"just below the third", row, 0.599, {0, 1, 2}},
                  {"just above the third", row, 0.601, {0, 1}},
                  {"one", row, 1.0, {0, 1}},
                  {"the largest stays at one", LogitsOf({0.9, 0.1}), 1.0, {0}},
                  {"flat rows stay", {1, 1, 1, 1}, 1.0, {0, 1, 2, 3}},
                  {"masked tokens stay out", {-kInf, 0, -kInf, -3}, 0.9, {1}},
                  {"min_keep below the cut", row, 0.601, {0, 1}, 2},
                  {"min_keep above the cut", row, 0.601, {0, 1, 2}, 3},
                  {"min_keep above V", row, 0.601, {0, 1, 2, 3}, 100},
                  {"one token", {0}, 1.0, {0}},
              });
}

TEST(TopATest, CutsLargeRow) { ExpectCutsLargeRow({.top_a = 0.3}); }

}  // namespace
}  // namespace tokendraw::sampling
