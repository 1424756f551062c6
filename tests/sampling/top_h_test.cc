#include "sampling/filters.h"
#include "tests/sampling/testing.h"

namespace tokendraw::sampling {
namespace {

TEST(TopHTest, KeepsAShareOfTheEntropy) {
  // Sums of -q ln q: .366516 .727708 1.049596 1.235744 1.340941.
  const Row row = LogitsOf({0.4, 0.3, 0.2, 0.07, 0.03});
  CheckFilter(Filter::kTopH, &Params::top_h, ApplyTopH,
              {
                  {"off", row, 0.0, {0, 1, 2, 3, 4}},
                  {"the first alone", row, 0.1, {0}},
                  {"just below the second", row, 0.5426, {0}},
                  {"just above the second", row, 0.5428, {0, 1}},
                  {"just below the third", row, 0.7827, {0, 1}},
                  {"just above the third", row, 0.7828, {0, 1, 2}},
                  {"just below the fourth", row, 0.9215, {0, 1, 2}},
                  {"just above the fourth", row, 0.9216, {0, 1, 2, 3}},
                  {"ids out of order", LogitsOf({0.07, 0.4, 0.03, 0.3, 0.2}), 0.79, {1, 3, 4}},
                  {"masked tokens stay out", {-kInf, 0, -kInf, -3}, 0.6, {1}},
                  {"min_keep above the cut", row, 0.1, {0, 1, 2}, 3},
                  {"min_keep above V", row, 0.1, {0, 1, 2, 3, 4}, 100},
                  {"one token", {0}, 0.5, {0}},
              });
}

TEST(TopHTest, OneKeepsTheHundredLargest) {
  const Row row = GaussianRow(1000, 1, 4);
  Params params{.top_h = 0.9999999};
  EXPECT_EQ(KeptIds(params, row).size(), 99u);
  params = {.top_k = 100};
  const IdList hundred = KeptIds(params, row);
  params = {.top_h = 0.5, .min_keep = 100};
  EXPECT_EQ(KeptIds(params, row), hundred);
}

TEST(TopHTest, CutsLargeRow) { ExpectCutsLargeRow({.top_h = 0.6}); }

}  // namespace
}  // namespace tokendraw::sampling
