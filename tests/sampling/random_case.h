// Random rows and parameters, of all the kinds that can go wrong.
#ifndef TOKENDRAW_TESTS_SAMPLING_RANDOM_CASE_H_
#define TOKENDRAW_TESTS_SAMPLING_RANDOM_CASE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "sampling/params.h"
#include "sampling/types.h"

namespace tokendraw::sampling {

// Owns what a RowInput looks at.
struct RandomCase {
  std::string kind;
  std::vector<std::byte> data;
  DataType type = DataType::kF32;
  int32_t vocab_size = 0;
  std::vector<std::byte> mask;
  std::vector<int32_t> prompt_ids;
  std::vector<int32_t> output_ids;
  std::vector<TokenCount> token_counts;
  std::optional<int32_t> output_count;
  SamplerState state;
  RandomKey key;
  int32_t sample_count = 1;
  Params params;

  RowInput Input() const;
};

// The case number `seed`, with a row of `vocab_size` tokens.
RandomCase MakeRandomCase(uint32_t seed, int32_t vocab_size);

}  // namespace tokendraw::sampling

#endif  // TOKENDRAW_TESTS_SAMPLING_RANDOM_CASE_H_
