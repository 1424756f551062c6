#include "sampling/filters.h"
#include "tests/sampling/testing.h"

namespace tokendraw::sampling {
namespace {

TEST(TfsZTest, CutsWhereTheCurveFlattens) {
  // d = .00 .05 .08 .01, their sums as shares of 0.14: 0, .35714, .92857, 1.
  const Row row = LogitsOf({0.3, 0.25, 0.2, 0.1, 0.08, 0.07});
  // d = .125 .125: .5, 1.
  const Row steps = LogitsOf({0.5, 0.25, 0.125, 0.125});
  CheckFilter(Filter::kTfsZ, &Params::tfs_z, ApplyTfsZ,
              {
                  {"off", row, 1.0, {0, 1, 2, 3, 4, 5}},
                  {"little", row, 0.1, {0, 1}},
                  {"just below the second step", row, 0.3571, {0, 1}},
                  {"just above the second step", row, 0.3572, {0, 1, 2}},
                  {"just below the third step", row, 0.9285, {0, 1, 2}},
                  {"just above the third step", row, 0.9286, {0, 1, 2, 3}},
                  {"zero", steps, 0.0, {0}},
                  {"ids out of order", LogitsOf({0.08, 0.3, 0.25, 0.07, 0.2, 0.1}), 0.5, {1, 2, 4}},
                  {"just below a half", steps, 0.499, {0}},
                  {"just above a half", steps, 0.501, {0, 1}},
                  {"two tokens are left alone", {3, 0}, 0.0, {0, 1}},
                  {"flat rows are left alone", {1, 1, 1, 1}, 0.5, {0, 1, 2, 3}},
                  {"masked tokens are no part of the curve", {-kInf, 3, -kInf, 0}, 0.1, {1, 3}},
                  {"min_keep above the cut", row, 0.1, {0, 1, 2, 3}, 4},
                  {"min_keep above V", row, 0.1, {0, 1, 2, 3, 4, 5}, 100},
                  {"one token", {0}, 0.5, {0}},
              });
}

// The first tokens decide what sorting all of them would: at each z, and on flat rows too.
TEST(TfsZTest, AFewTokensTellWhatAllWould) {
  int certain = 0;
  for (const double stddev : {0.01, 0.5, 1.0, 3.0, 8.0}) {
    const Row row = GaussianRow(20000, stddev, 9);
    for (const double z : {0.0, 0.05, 0.5, 0.9, 0.99, 0.9999, 0.999999999}) {
      const auto expected = oracle::Sample({.tfs_z = z}, InputOf(row)).draws.front();
      if (!expected.IsCertain()) continue;
      ++certain;
      EXPECT_EQ(KeptIds({.tfs_z = z}, row), expected.kept_ids) << stddev << " " << z;
    }
  }
  EXPECT_GT(certain, 20);
}

TEST(TfsZTest, CutsLargeRow) { ExpectCutsLargeRow({.tfs_z = 0.9}); }

}  // namespace
}  // namespace tokendraw::sampling
