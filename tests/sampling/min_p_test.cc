#include "sampling/filters.h"
#include "tests/sampling/testing.h"

namespace tokendraw::sampling {
namespace {

TEST(MinPTest, KeepsFromAFractionOfTheLargest) {
  const Row row = LogitsOf({0.1, 0.4, 0.2, 0.3});  // of the largest: 0.25 1 0.5 0.75
  CheckFilter(Filter::kMinP, &Params::min_p, ApplyMinP,
              {
                  {"off", row, 0.0, {0, 1, 2, 3}},
                  {"just below the last", row, 0.249, {0, 1, 2, 3}},
                  {"just above the last", row, 0.251, {1, 2, 3}},
                  {"just below the third", row, 0.499, {1, 2, 3}},
                  {"just above the third", row, 0.501, {1, 3}},
                  {"just below the second", row, 0.749, {1, 3}},
                  {"just above the second", row, 0.751, {1}},
                  {"exactly the largest", {2, 2, 1}, 1.0, {0, 1}},
                  {"one keeps the largest alone", row, 1.0, {1}},
                  {"tiny", {0, -690, -695}, 1e-300, {0, 1}},
                  {"masked tokens stay out", {-kInf, 0, -kInf, -0.5f}, 0.5, {1, 3}},
                  {"min_keep below the cut", row, 0.4, {1, 2, 3}, 2},
                  {"min_keep above the cut", row, 0.9, {1, 2, 3}, 3},
                  {"min_keep above V", row, 0.9, {0, 1, 2, 3}, 100},
                  {"min_keep and ties: lowest ids", {5, 4, 4, 4}, 0.9, {0, 1, 2}, 3},
                  {"one token", {0}, 1.0, {0}},
                  {"largest finite logits", {3e38f, -3e38f, 3e38f}, 0.01, {0, 2}},
              });
}

TEST(MinPTest, IsRelativeToTheLargestSurvivor) {
  // XTC removes the first; 0.1 is a quarter of the largest that is left.
  const Row row = LogitsOf({0.5, 0.4, 0.1});
  Params params{.min_p = 0.24, .xtc_probability = 1.0, .xtc_threshold = 0.3};
  EXPECT_EQ(KeptIds(params, row), (IdList{1, 2}));
  params.min_p = 0.26;
  EXPECT_EQ(KeptIds(params, row), IdList{1});
}

TEST(MinPTest, SeesTheTemperedRow) {
  const Row row = {0, -2};  // tempered by 2: ratio e^-1 = 0.3679, not e^-2 = 0.1353
  EXPECT_EQ(KeptIds(Params{.temperature = 2, .min_p = 0.367}, row), (IdList{0, 1}));
  EXPECT_EQ(KeptIds(Params{.temperature = 2, .min_p = 0.369}, row), IdList{0});
}

TEST(MinPTest, CutsLargeRow) { ExpectCutsLargeRow({.min_p = 0.05}); }

}  // namespace
}  // namespace tokendraw::sampling
