// Parameters and edits of a row, as text.
#ifndef TOKENDRAW_TESTS_GOLDEN_SPEC_H_
#define TOKENDRAW_TESTS_GOLDEN_SPEC_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "sampling/params.h"
#include "sampling/types.h"

namespace tokendraw::golden {

// What a row is sampled with, beside its logits and its key.
struct Spec {
  sampling::Params params;
  int32_t draws = 3;
  std::vector<std::byte> mask;
  std::vector<int32_t> prompt_ids, output_ids;
  std::vector<sampling::TokenCount> token_counts;

  // The row to sample; a view of this object.
  sampling::RowInput Input(const sampling::LogitsRow& logits, const sampling::RandomKey& key) const;
};

// `text` is a list of words:
//   NAME=NUMBER       a scalar field of Params
//   p_less            that filter
//   chain=NAME,...    the filters that run, in this order
//   draws=NUMBER      sample_count, 3 if not given
//   bias, mask, history, counts, breaker, protected, output_scope
//                     fixed choices of those inputs, for a vocabulary of `size`
Spec ParseSpec(std::string_view text, int32_t size);

}  // namespace tokendraw::golden

#endif  // TOKENDRAW_TESTS_GOLDEN_SPEC_H_
