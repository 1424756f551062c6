#include "client/tensor.h"

namespace tokendraw {

int ElementBytes(v1::DataType type) {
  switch (type) {
    case v1::DATA_TYPE_F32:
      return 4;
    case v1::DATA_TYPE_F16:
    case v1::DATA_TYPE_BF16:
      return 2;
    default:
      return 0;
  }
}

void SetInlineLogits(std::span<const std::byte> data, v1::DataType type, std::int32_t vocab_size,
                     std::int32_t row_count, v1::LogitsTensor& tensor) {
  tensor.set_data_type(type);
  tensor.set_vocab_size(vocab_size);
  tensor.set_row_count(row_count);
  tensor.clear_row_stride();
  tensor.set_inline_(data.data(), data.size());
}

}  // namespace tokendraw
