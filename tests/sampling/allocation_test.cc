// A sampler that has seen a row of the same kind allocates nothing for the next.
#include <atomic>
#include <cstdlib>
#include <new>

#include "tests/sampling/candidates_testing.h"
#include "tests/sampling/random_case.h"
#include "tests/sampling/testing.h"

namespace {
std::atomic<int> allocations = 0;

void* Allocate(size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size)) return memory;
  std::abort();
}
}  // namespace

void* operator new(size_t size) { return Allocate(size); }
void* operator new[](size_t size) { return Allocate(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }

namespace tokendraw::sampling {
namespace {

int AllocationsOf(Sampler& sampler, const RandomCase& test_case, RowResult& result) {
  const RowInput input = test_case.Input();
  const int before = allocations;
  sampler.Sample(test_case.params, input, result);
  return allocations - before;
}

TEST(AllocationTest, TheCounterCounts) {
  const int before = allocations;
  const std::vector<int> values(100);
  EXPECT_EQ(allocations, before + 1);
  EXPECT_EQ(values.size(), 100u);
}

TEST(AllocationTest, NoneForARowOnceWarm) {
  Sampler sampler;
  RowResult result;
  int cold = 0;
  for (uint32_t i = 0; i < 400; ++i) {
    const auto vocab_size = static_cast<int32_t>(i % 4 == 0 ? 20000 : 1 + i * 13 % 3000);
    const RandomCase test_case = MakeRandomCase(7000000 + i, vocab_size);
    cold += AllocationsOf(sampler, test_case, result);
    EXPECT_EQ(AllocationsOf(sampler, test_case, result), 0) << i;
  }
  EXPECT_GT(cold, 0);
}

// Other rows, other parameters, once each kind has been seen at its size.
TEST(AllocationTest, NoneForOtherRows) {
  Sampler sampler;
  RowResult result;
  Params params{.temperature = 0.8,
                .top_p = 0.95,
                .min_p = 0.05,
                .typical_p = 0.9,
                .xtc_probability = 0.5,
                .repetition_penalty = 1.1f,
                .dry_multiplier = 0.5f};
  const std::vector<std::byte> mask(49152 / 8, std::byte{0xef});
  IdList history;
  for (int32_t i = 0; i < 512; ++i) history.push_back(i * i % 300);
  int after_warm_up = 0;
  for (uint32_t i = 0; i < 60; ++i) {
    const Row row = i % 2 == 0 ? PeakedRow(49152, i) : GaussianRow(49152, 3, i);
    RowInput input = InputOf(row, {.seed = i});
    if (i % 3 == 0) input.allowed_mask = mask;
    input.history.output_ids = history;
    const int before = allocations;
    sampler.Sample(params, input, result);
    if (i >= 30) after_warm_up += allocations - before;
    ASSERT_EQ(result.draws.size(), 1u);
  }
  EXPECT_EQ(after_warm_up, 0);
}

TEST(AllocationTest, NoneForCandidates) {
  Sampler sampler;
  const std::vector<Params> chains = {
      {.temperature = 0.8, .top_p = 0.95, .typical_p = 0.9, .repetition_penalty = 1.1f},
      {.top_k = 40, .xtc_probability = 1, .logprobs = LogprobMode::kRaw, .top_logprobs = 5},
      {.min_p = 0.05, .return_kept = true},
      {.temperature = 0},
      {}};
  std::vector<RowResult> results(chains.size());  // an error gives the memory of details back
  const std::vector<std::byte> mask(20000 / 8, std::byte{0xef});
  const IdList history = FirstIds(512);
  int cold = 0, after_warm_up = 0, draws = 0;
  for (uint32_t i = 0; i < 60; ++i) {
    const Row row = PeakedRow(20000, i);
    const Reduced reduced = Reduce(row, i % 10 == 9 ? row.size() : 256);
    for (size_t chain = 0; chain < chains.size(); ++chain) {
      const Params& params = chains[chain];
      RowInput input = With(reduced, InputOf(row, {.seed = i}));
      if (i % 3 == 0 && !params.WantsDetail()) input.allowed_mask = mask;
      if (i % 2 == 0) input.history.output_ids = history;
      const int before = allocations;
      sampler.Sample(params, input, results[chain]);
      (i < 30 ? cold : after_warm_up) += allocations - before;
      draws += results[chain].error == RowErrorCode::kNone;
    }
  }
  EXPECT_GT(cold, 0);
  EXPECT_EQ(after_warm_up, 0);
  EXPECT_GT(draws, 150);
}

}  // namespace
}  // namespace tokendraw::sampling
