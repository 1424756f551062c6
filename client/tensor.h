// Fills the tensor of a request.
#ifndef TOKENDRAW_CLIENT_TENSOR_H_
#define TOKENDRAW_CLIENT_TENSOR_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "tokendraw/v1/logits.pb.h"

namespace tokendraw {

// Bytes of one element: 4 for F32, 2 for F16 and BF16, 0 for anything else.
int ElementBytes(v1::DataType type);

// Makes `tensor` the rows in `data`: row-major [row_count, vocab_size] elements of `type`,
// little-endian, without padding between rows. Copies. Nothing is checked here: the server refuses
// a length that is not row_count * vocab_size elements.
void SetInlineLogits(std::span<const std::byte> data, v1::DataType type, std::int32_t vocab_size,
                     std::int32_t row_count, v1::LogitsTensor& tensor);

}  // namespace tokendraw

#endif  // TOKENDRAW_CLIENT_TENSOR_H_
