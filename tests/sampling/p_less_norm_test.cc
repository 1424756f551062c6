#include "sampling/filters.h"
#include "tests/sampling/testing.h"

namespace tokendraw::sampling {
namespace {

IdList Kept(const Row& row, double temperature = 1, int32_t min_keep = 1) {
  return KeptIds({.temperature = temperature, .p_less_norm = true, .min_keep = min_keep}, row);
}

TEST(PLessNormTest, KeepsFromTheSumOfSquaresLessThatOfAUniformRow) {
  // Sum of squares .325: (5 * .325 - 1) / 4 = .15625.
  EXPECT_EQ(Kept(LogitsOf({0.5, 0.2, 0.15, 0.1, 0.05})), (IdList{0, 1}));
  // .2958: .11975.
  EXPECT_EQ(Kept(LogitsOf({0.4, 0.3, 0.2, 0.07, 0.03})), (IdList{0, 1, 2}));
  // .275: (3 * .275 ...) with .36 .34 .3 is (3 * .3352 - 1) / 2 = .0028.
  EXPECT_EQ(Kept(LogitsOf({0.36, 0.34, 0.3})), FirstIds(3));
  EXPECT_EQ(Kept({1, 1, 1, 1}), FirstIds(4));
  EXPECT_EQ(Kept({0}), FirstIds(1));
  // Masked tokens do not count: n = 2, (2 * .82 - 1) / 1 = .64 > .1.
  EXPECT_EQ(Kept({-kInf, std::log(0.9f), -kInf, std::log(0.1f)}), IdList{1});
  EXPECT_EQ(Kept(LogitsOf({0.4, 0.3, 0.2, 0.07, 0.03}), 1, 4), FirstIds(4));
}

TEST(PLessNormTest, LooksAtTheRowAsTheTemperatureWillMakeIt) {
  const Row row = LogitsOf({0.5, 0.2, 0.15, 0.1, 0.05});
  EXPECT_LT(Kept(row, 0.5).size(), Kept(row, 1).size());
  for (const std::vector<Filter>& chain : {std::vector{Filter::kPLessNorm, Filter::kTemperature},
                                           std::vector{Filter::kTemperature, Filter::kPLessNorm}}) {
    const Params params{.temperature = 0.7, .p_less_norm = true, .chain = chain};
    EXPECT_EQ(KeptIds(params, row), Kept(row, 0.7));
  }
}

TEST(PLessNormTest, CutsLargeRow) { ExpectCutsLargeRow({.p_less_norm = true}); }

}  // namespace
}  // namespace tokendraw::sampling
