// What holds for every filter.
#include <algorithm>
#include <bit>
#include <numeric>

#include "sampling/chain.h"
#include "tests/sampling/testing.h"

namespace tokendraw::sampling {
namespace {

struct FilterUse {
  const char* name;
  Filter filter;
  Params off;
  Params on;     // cuts a Gaussian row in the middle
  Params harsh;  // leaves as little as the filter can
};

bool Reshapes(Filter filter) {
  return filter == Filter::kTemperature || filter == Filter::kSmoothing;
}

// All but ADAPTIVE_P, which is no part of the chain's work. TEMPERATURE and SMOOTHING remove
// nothing, at any value.
std::vector<FilterUse> AllFilters() {
  std::vector<FilterUse> filters = {
      {"top_n_sigma", Filter::kTopNSigma, {}, {.top_n_sigma = 1.5}, {.top_n_sigma = 1e-9}},
      {"p_less",
       Filter::kPLess,
       {},
       {.temperature = 1.5, .p_less = true},
       {.temperature = 1e-6, .p_less = true}},
      {"typical_p", Filter::kTypicalP, {}, {.typical_p = 0.6}, {.typical_p = 1e-9}},
      {"xtc",
       Filter::kXtc,
       {.xtc_threshold = 1e-3},
       {.xtc_probability = 1, .xtc_threshold = 0.05},
       {.xtc_probability = 1, .xtc_threshold = 1e-300}},
      {"temperature", Filter::kTemperature, {}, {.temperature = 0.5}, {.temperature = 1e-9}},
      {"top_k", Filter::kTopK, {}, {.top_k = 5}, {.top_k = 2}},
      {"top_p", Filter::kTopP, {}, {.top_p = 0.7}, {.top_p = 1e-9}},
      {"min_p", Filter::kMinP, {}, {.min_p = 0.2}, {.min_p = 1}},
      {"p_less_norm",
       Filter::kPLessNorm,
       {},
       {.temperature = 1.5, .p_less_norm = true},
       {.temperature = 1e-6, .p_less_norm = true}},
      {"smoothing",
       Filter::kSmoothing,
       {.smoothing_curve = 2},
       {.smoothing_factor = 0.3, .smoothing_curve = 2},
       {.smoothing_factor = 1e30, .smoothing_curve = 3}},
      {"top_h", Filter::kTopH, {}, {.top_h = 0.6}, {.top_h = 1e-9}},
      {"top_a", Filter::kTopA, {}, {.top_a = 0.5}, {.top_a = 1}},
      {"tfs_z", Filter::kTfsZ, {}, {.tfs_z = 0.7}, {.tfs_z = 0}},
      {"epsilon_cutoff",
       Filter::kEpsilonCutoff,
       {},
       {.epsilon_cutoff = 0.02},
       {.epsilon_cutoff = 0.999999}},
      {"eta_cutoff", Filter::kEtaCutoff, {}, {.eta_cutoff = 0.1}, {.eta_cutoff = 0.999999}},
      {"mirostat 1",
       Filter::kMirostat,
       {},
       {.mirostat = 1, .mirostat_tau = 1.5},
       {.mirostat = 1, .mirostat_tau = 0}},
      {"mirostat 2",
       Filter::kMirostat,
       {},
       {.mirostat = 2, .mirostat_tau = 2},
       {.mirostat = 2, .mirostat_tau = 0}},
  };
  for (FilterUse& use : filters) {
    for (Params* params : {&use.off, &use.on, &use.harsh}) {
      params->chain = {use.filter};
      params->return_kept = true;
    }
  }
  return filters;
}

void RunChain(const Params& params, Support& support) {
  const RowInput row = {.logits = {.vocab_size = 100}};
  ApplyFilters(params, row, params.xtc_probability > 0, support);
}

TEST(PropertiesTest, OffIsIdentity) {
  for (const FilterUse& use : AllFilters()) {
    SCOPED_TRACE(use.name);
    for (uint32_t seed = 0; seed < 30; ++seed) {
      Row row = GaussianRow(seed + 1, 3, seed);
      if (seed > 3) row[2] = -kInf;
      const Survivors before(row);
      Survivors after(row);
      RunChain(use.off, after);
      ASSERT_EQ(IdsOf(after), IdsOf(before));
      ASSERT_EQ(ValuesOf(after), ValuesOf(before));
    }
  }
}

TEST(PropertiesTest, OnChangesARow) {
  for (const FilterUse& use : AllFilters()) {
    SCOPED_TRACE(use.name);
    const Row row = GaussianRow(60, 1.5, 3);
    const bool reshapes = Reshapes(use.filter);
    const Survivors before(row);
    Survivors after(row);
    RunChain(use.on, after);
    EXPECT_EQ(after.Size() < row.size(), !reshapes);
    EXPECT_EQ(after.Max() != before.Max(), reshapes || use.filter == Filter::kXtc);
  }
}

TEST(PropertiesTest, NeverEmptyAtEveryLength) {
  for (const FilterUse& use : AllFilters()) {
    SCOPED_TRACE(use.name);
    for (size_t size = 1; size <= 100; ++size) {
      for (const Row& row : {GaussianRow(size, 2, static_cast<uint32_t>(size)), Row(size, -1.0f),
                             Row(size, 3e38f)}) {
        for (const Params* params : {&use.on, &use.harsh}) {
          const IdList kept = KeptIds(*params, row);
          ASSERT_FALSE(kept.empty());
          ASSERT_LT(kept.back(), static_cast<int32_t>(size));
          ASSERT_EQ(std::adjacent_find(kept.begin(), kept.end(), std::greater_equal<>()),
                    kept.end());
        }
      }
    }
  }
}

TEST(PropertiesTest, EveryLengthAgreesWithTheOracle) {
  int certain = 0;
  for (const FilterUse& use : AllFilters()) {
    SCOPED_TRACE(use.name);
    for (size_t size = 1; size <= 100; ++size) {
      const Row row = GaussianRow(size, 1.5, static_cast<uint32_t>(size));
      const auto expected = oracle::Sample(use.on, InputOf(row)).draws.front();
      if (!expected.IsCertain()) continue;
      ++certain;
      ASSERT_EQ(KeptIds(use.on, row), expected.kept_ids) << size;
      ASSERT_EQ(TokenOf(use.on, row), expected.token_id) << size;
    }
  }
  EXPECT_GE(certain, 1690);
}

TEST(PropertiesTest, TiesGoLowestIdFirst) {
  // Ten of equal probability: a filter that has to choose takes the first; one that cuts at a
  // value keeps or removes them alike.
  const Row row(10, 0.75f);
  const std::vector<std::pair<Params, IdList>> cases = {
      {{.top_n_sigma = 0.5}, FirstIds(10)},
      {{.p_less = true}, FirstIds(10)},
      {{.typical_p = 0.45}, FirstIds(5)},
      {{.xtc_probability = 1, .xtc_threshold = 0.05}, FirstIds(1)},
      {{.temperature = 0.5}, FirstIds(10)},
      {{.top_k = 3}, FirstIds(3)},
      {{.top_p = 0.65}, FirstIds(7)},
      {{.min_p = 1}, FirstIds(10)},
      {{.p_less_norm = true}, FirstIds(10)},
      {{.smoothing_factor = 1}, FirstIds(10)},
      {{.top_h = 0.45}, FirstIds(4)},
      {{.top_a = 1}, FirstIds(10)},
      {{.tfs_z = 0.5}, FirstIds(10)},
      {{.epsilon_cutoff = 0.5}, FirstIds(10)},
      {{.eta_cutoff = 0.5}, FirstIds(10)},
      {{.mirostat = 2, .mirostat_tau = 0.1}, FirstIds(1)},
  };
  for (const auto& [params, expected] : cases) EXPECT_EQ(KeptIds(params, row), expected);
}

TEST(PropertiesTest, PermutingIdsPermutesTheKeptSet) {
  std::mt19937 random(7);
  for (const FilterUse& use : AllFilters()) {
    SCOPED_TRACE(use.name);
    for (uint32_t seed = 0; seed < 30; ++seed) {
      const Row row = GaussianRow(70, 1.5, 100 + seed);  // no ties
      IdList order = FirstIds(row.size());
      std::shuffle(order.begin(), order.end(), random);
      Row permuted;
      for (const int32_t id : order) permuted.push_back(row[id]);
      IdList mapped_back;
      for (const int32_t id : KeptIds(use.on, permuted)) mapped_back.push_back(order[id]);
      std::sort(mapped_back.begin(), mapped_back.end());
      ASSERT_EQ(mapped_back, KeptIds(use.on, row));
    }
  }
}

TEST(PropertiesTest, MaskedIdsNeverReturn) {
  for (const FilterUse& use : AllFilters()) {
    SCOPED_TRACE(use.name);
    for (uint32_t seed = 0; seed < 40; ++seed) {
      Row row = GaussianRow(40, 1.5, seed);
      for (size_t i = 0; i < row.size(); ++i) {
        if ((i + seed) % 3 == 0) row[i] = -kInf;
      }
      Params params = use.on;
      params.min_keep = seed % 2 == 0 ? 1 : 100;
      RowInput input = InputOf(row, {.seed = seed});
      input.sample_count = 20;
      for (const Draw& draw : DrawsOf(params, input)) {
        ASSERT_NE(row[draw.token_id], -kInf);
        for (const int32_t id : draw.kept_ids) ASSERT_NE(row[id], -kInf);
      }
    }
  }
}

TEST(PropertiesTest, MinKeepIsObeyed) {
  const Row row = GaussianRow(12, 0.5, 8);  // no ties
  IdList largest_first = FirstIds(12);
  std::sort(largest_first.begin(), largest_first.end(),
            [&](int32_t a, int32_t b) { return row[a] > row[b]; });
  for (const FilterUse& use : AllFilters()) {
    SCOPED_TRACE(use.name);
    const size_t alone = KeptIds(use.harsh, row).size();
    IdList previous;
    for (int32_t min_keep = 0; min_keep <= 14; ++min_keep) {
      Params params = use.harsh;
      params.min_keep = min_keep;
      const IdList kept = KeptIds(params, row);
      const size_t least = static_cast<size_t>(std::clamp(min_keep, 1, 12));
      EXPECT_GE(kept.size(), least);
      EXPECT_TRUE(std::includes(kept.begin(), kept.end(), previous.begin(), previous.end()));
      previous = kept;
      if (use.filter == Filter::kXtc) {  // all or nothing
        EXPECT_EQ(kept.size(), min_keep <= 1 ? 1u : 12u);
      } else if (!Reshapes(use.filter)) {
        EXPECT_EQ(kept.size(), std::max(least, alone));
        if (use.filter == Filter::kTypicalP) continue;  // its own order, see TypicalPTest
        IdList expected(largest_first.begin(),
                        largest_first.begin() + static_cast<std::ptrdiff_t>(kept.size()));
        std::sort(expected.begin(), expected.end());
        EXPECT_EQ(kept, expected);
      }
    }
  }
}

// Truncations that keep the largest are the same after a second run.
TEST(PropertiesTest, ThresholdsAtAValueAreIdempotent) {
  const Row row = GaussianRow(200, 1.5, 2);
  for (const Params& params : {Params{.top_k = 9}, Params{.min_p = 0.1}}) {
    Survivors support(row);
    RunChain(params, support);
    const IdList once = IdsOf(support);
    RunChain(params, support);
    EXPECT_EQ(IdsOf(support), once);
    EXPECT_LT(once.size(), row.size());
  }
}

TEST(PropertiesTest, ReportedProbabilitiesAreRenormalised) {
  for (const FilterUse& use : AllFilters()) {
    SCOPED_TRACE(use.name);
    const std::vector<double> p = Probabilities(use.on, GaussianRow(60, 1.5, 3));
    EXPECT_NEAR(std::accumulate(p.begin(), p.end(), 0.0), 1, 1e-6);
  }
}

}  // namespace
}  // namespace tokendraw::sampling
