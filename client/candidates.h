// What a GPU kernel reduces a row to; here on the CPU, as the reference for such kernels.
#ifndef TOKENDRAW_CLIENT_CANDIDATES_H_
#define TOKENDRAW_CLIENT_CANDIDATES_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "tokendraw/v1/logits.pb.h"

namespace tokendraw {

// Makes `candidates` the `count` largest logits of a row (ties: lowest id first), ids ascending,
// and the summary of the whole row, by the formulas of CandidateRow in float64. A `count` above
// vocab_size is vocab_size.
//
// `row` holds vocab_size elements of `type` (F32, F16 or BF16), little-endian; more are padding.
// vocab_size and `count` >= 1. A row of -inf alone has no summary. A row with NaN or +inf has
// neither summary nor other candidates than the first such token: the server answers NOT_FINITE.
void ReduceRow(std::span<const std::byte> row, v1::DataType type, std::int32_t vocab_size,
               std::int32_t count, v1::CandidateRow& candidates);

// Makes `tensor` the candidates of row_count rows, whose starts in `rows` are `row_stride` elements
// apart (0: vocab_size). Otherwise as ReduceRow.
void SetCandidates(std::span<const std::byte> rows, v1::DataType type, std::int32_t vocab_size,
                   std::int32_t row_count, std::int32_t row_stride, std::int32_t count,
                   v1::LogitsTensor& tensor);

}  // namespace tokendraw

#endif  // TOKENDRAW_CLIENT_CANDIDATES_H_
