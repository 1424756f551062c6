#include "sampling/filters.h"
#include "tests/sampling/testing.h"

namespace tokendraw::sampling {
namespace {

// `value` is the temperature.
TEST(PLessTest, KeepsFromTheSumOfSquares) {
  const auto apply = [](double temperature, int32_t min_keep, Support& support) {
    ApplyPLess(temperature, min_keep, support);
  };
  const Row row = LogitsOf({0.4, 0.35, 0.25});
  const std::vector<FilterCase> cases = {
      {"sum 0.345, second above", row, 1, {0, 1}},
      {"sum 0.38, second below", LogitsOf({0.5, 0.3, 0.2}), 1, {0}},
      {"second just above 0.34405", LogitsOf({0.4, 0.345, 0.255}), 1, {0, 1}},
      {"second just below 0.34353", LogitsOf({0.4, 0.342, 0.258}), 1, {0}},
      {"all equal", Row(3, 0.0f), 1, {0, 1, 2}},
      {"ties with the largest", {2, 7, -1, 7}, 1, {1, 3}},
      {"T = 0.5: second 0.355 below 0.374", row, 0.5, {0}},
      {"T = 2: second 0.343 above 0.336", row, 2, {0, 1}},
      {"T = 2 on a row that T = 1 cuts to one", LogitsOf({0.5, 0.3, 0.2}), 2, {0}},
      {"T = 5 on a row that T = 1 cuts to one", LogitsOf({0.44, 0.33, 0.23}), 5, {0, 1}},
      {"the same at T = 1", LogitsOf({0.44, 0.33, 0.23}), 1, {0}},
      {"tiny T", {3, 2.999f, 3}, 1e-30, {0, 2}},
      {"masked tokens stay out", {-kInf, 0, 0, -kInf}, 1, {1, 2}},
      {"min_keep below the cut", row, 1, {0, 1}, 2},
      {"min_keep above the cut", LogitsOf({0.2, 0.7, 0.1}), 1, {0, 1}, 2},
      {"min_keep above V", row, 1, {0, 1, 2}, 4},
      {"one token", {-3}, 1, {0}},
      {"largest finite logits", {3e38f, -3e38f, 3e38f}, 1, {0, 2}},
  };
  for (const FilterCase& c : cases) {
    SCOPED_TRACE(c.name);
    Survivors support(c.row);
    apply(c.value, c.min_keep, support);
    EXPECT_EQ(IdsOf(support), c.kept);

    // In a chain: before the temperature, after it, and without it, the same q.
    Params params{.temperature = c.value, .p_less = true, .min_keep = c.min_keep};
    for (const std::vector<Filter>& chain : {std::vector<Filter>{Filter::kPLess},
                                             {Filter::kPLess, Filter::kTemperature},
                                             {Filter::kTemperature, Filter::kPLess}}) {
      params.chain = chain;
      EXPECT_EQ(KeptIds(params, c.row), c.kept);
    }
    params.p_less = false;
    EXPECT_EQ(KeptIds(params, c.row), IdsOf(Survivors(c.row)));
  }
}

// Rounding can put the sum of V squares above 1 / V; the tied tokens stay all the same.
TEST(PLessTest, AllEqualRowsOfEveryLengthStayWhole) {
  for (size_t size = 1; size <= 100; ++size) {
    Survivors support(Row(size, 0.1f * static_cast<float>(size)));
    ApplyPLess(1.0, 1, support);
    EXPECT_EQ(support.Size(), size);
  }
  for (size_t size : {32000u, 129280u, 151936u}) {
    Survivors support(Row(size, 0.0f));
    ApplyPLess(1.0, 1, support);
    EXPECT_EQ(support.Size(), size);
  }
}

// q is renormalised over the survivors.
TEST(PLessTest, LooksAtSurvivorsOnly) {
  const Row row = LogitsOf({0.5, 0.2, 0.175, 0.125});  // without id 0: 0.4 0.35 0.25
  const Params params{.p_less = true,
                      .xtc_probability = 1,
                      .xtc_threshold = 0.19,
                      .chain = {Filter::kXtc, Filter::kPLess}};
  EXPECT_EQ(KeptIds(params, row), (IdList{1, 2}));
}

TEST(PLessTest, CutsLargeRow) { ExpectCutsLargeRow({.p_less = true}); }

}  // namespace
}  // namespace tokendraw::sampling
