#include <limits>

#include "sampling/filters.h"
#include "tests/sampling/testing.h"

namespace tokendraw::sampling {
namespace {

TEST(TopKTest, KeepsExactlyK) {
  const Row ties = {1, 3, 2, 3, 2, 2};  // order: 1 3 | 2 4 5 | 0
  CheckFilter(Filter::kTopK, &Params::top_k,
              [](auto value, int32_t min_keep, Support& support) {
                ApplyTopK(value, false, min_keep, support);
              },
              {
                  {"off", ties, 0, {0, 1, 2, 3, 4, 5}},
                  {"one of two tied", ties, 1, {1}},
                  {"both tied", ties, 2, {1, 3}},
                  {"first of three tied", ties, 3, {1, 2, 3}},
                  {"two of three tied", ties, 4, {1, 2, 3, 4}},
                  {"all but the last", ties, 5, {1, 2, 3, 4, 5}},
                  {"as many as there are", ties, 6, {0, 1, 2, 3, 4, 5}},
                  {"one more than there are", ties, 7, {0, 1, 2, 3, 4, 5}},
                  {"largest int", ties, std::numeric_limits<int32_t>::max(), {0, 1, 2, 3, 4, 5}},
                  {"all equal", Row(5, -2.5f), 2, {0, 1}},
                  {"masked tokens do not count", {-kInf, 1, -kInf, 0, 2}, 2, {1, 4}},
                  {"k above the unmasked", {-kInf, 1, -kInf, 0, 2}, 4, {1, 3, 4}},
                  {"min_keep below k", ties, 3, {1, 2, 3}, 2},
                  {"min_keep above k", ties, 2, {1, 2, 3}, 3},
                  {"min_keep above V", ties, 2, {0, 1, 2, 3, 4, 5}, 9},
                  {"one token", {-7}, 3, {0}},
                  {"largest finite logits", {3e38f, -3e38f, 3.1e38f}, 2, {0, 2}},
              });
}

TEST(TopKTest, OneIsGreedyAndKeepsOneToken) {
  const Params params{.top_k = 1, .typical_p = 0.01};
  EXPECT_EQ(KeptIds(params, Row{1, 3, 3, 2}), IdList{1});
  for (uint64_t seed = 0; seed < 50; ++seed) EXPECT_EQ(TokenOf(params, {1, 3, 3, 2}, {seed}), 1);
}

TEST(TopKTest, CutsAfterTemperature) {
  // Tempered or not, the order of tokens is the same.
  const Row row = GaussianRow(50, 3, 1);
  const Params plain{.top_k = 7};
  const Params tempered{.temperature = 0.01, .top_k = 7};
  EXPECT_EQ(KeptIds(plain, row).size(), 7u);
  EXPECT_EQ(KeptIds(plain, row), KeptIds(tempered, row));
}

TEST(TopKTest, CutsLargeRow) { ExpectCutsLargeRow({.top_k = 40}); }

}  // namespace
}  // namespace tokendraw::sampling
