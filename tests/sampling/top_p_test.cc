#include "sampling/filters.h"
#include "tests/sampling/testing.h"

namespace tokendraw::sampling {
namespace {

TEST(TopPTest, KeepsWhileTheMassBeforeIsBelow) {
  const Row halves = LogitsOf({0.125, 0.5, 0.125, 0.25});  // order: 1 3 0 2
  const Row quarters(4, 1.5f);                             // all exactly 0.25
  CheckFilter(Filter::kTopP, &Params::top_p,
              [](auto value, int32_t min_keep, Support& support) {
                ApplyTopP(value, MassCut::kBelow, min_keep, support);
              },
              {
                  {"off", halves, 1.0, {0, 1, 2, 3}},
                  {"smallest", halves, 1e-300, {1}},
                  {"just below the first", halves, 0.49, {1}},
                  {"just above the first", halves, 0.51, {1, 3}},
                  {"just below the second", halves, 0.74, {1, 3}},
                  {"just above the second", halves, 0.76, {0, 1, 3}},
                  {"just below the third", halves, 0.87, {0, 1, 3}},
                  {"just above the third", halves, 0.88, {0, 1, 2, 3}},
                  {"mass before is exactly the cut", quarters, 0.5, {0, 1}},
                  {"a little over the cut", quarters, 0.5000001, {0, 1, 2}},
                  {"a little under the cut", quarters, 0.4999999, {0, 1}},
                  {"exactly one token", quarters, 0.25, {0}},
                  {"masked tokens have no mass", {-kInf, 2, -kInf, 2, 2, 2}, 0.5, {1, 3}},
                  {"min_keep below the cut", halves, 0.76, {0, 1, 3}, 2},
                  {"min_keep above the cut", halves, 0.1, {0, 1, 3}, 3},
                  {"min_keep above V", halves, 0.1, {0, 1, 2, 3}, 5},
                  {"one token", {4}, 0.1, {0}},
                  {"nothing but the first has mass", {0, -2000, -3000}, 0.999999, {0}},
                  {"largest finite logits", {3e38f, 3e38f, -3e38f}, 0.6, {0, 1}},
              });
}

// 1.0 is off: a token of no mass stays, although the mass before it is 1.
TEST(TopPTest, OneKeepsTokensOfNoMass) {
  EXPECT_EQ(KeptIds(Params{.top_p = 1.0}, Row{0, -2000}), (IdList{0, 1}));
}

TEST(TopPTest, MassIsThatOfTheSurvivors) {
  // After top_k the three are 0.5, 0.3, 0.2 of what is left; in the whole row the first two hold
  // 0.4 of the mass, so 0.75 would keep more.
  const Row row = LogitsOf({0.25, 0.15, 0.1, 0.09, 0.09, 0.08, 0.08, 0.08, 0.08});
  EXPECT_EQ(KeptIds(Params{.top_k = 3, .top_p = 0.79}, row), (IdList{0, 1}));
  EXPECT_EQ(KeptIds(Params{.top_k = 3, .top_p = 0.81}, row), (IdList{0, 1, 2}));
}

TEST(TopPTest, SeesTheTemperedRow) {
  const Row row = LogitsOf({0.5, 0.3, 0.2});  // squared: 0.658 0.237 0.105
  EXPECT_EQ(KeptIds(Params{.temperature = 0.5, .top_p = 0.65}, row), IdList{0});
  EXPECT_EQ(KeptIds(Params{.temperature = 0.5, .top_p = 0.66}, row), (IdList{0, 1}));
}

TEST(TopPTest, CutsLargeRow) { ExpectCutsLargeRow({.top_p = 0.9}); }

}  // namespace
}  // namespace tokendraw::sampling
