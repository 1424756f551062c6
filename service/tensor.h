// The rows of a request, wherever their bytes lie.
#ifndef TOKENDRAW_SERVICE_TENSOR_H_
#define TOKENDRAW_SERVICE_TENSOR_H_

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "service/shared_memory.h"
#include "service/wire_fields.h"

namespace tokendraw {

// Made of parts, each of which holds some columns of all rows; in order they are a row.
class Tensor {
 public:
  // A part of which each row has `row_bytes`, and begins `stride_bytes` after the one before. The
  // bytes must outlive this object, and there must be enough of them for all rows.
  void AddPart(Fragments bytes, size_t row_bytes, size_t stride_bytes);
  // One in shared memory, from byte `offset` on.
  void AddPart(std::shared_ptr<const Mapping> mapping, size_t offset, size_t row_bytes,
               size_t stride_bytes);

  // The bytes of a row: where they lie if that is one place and nobody can change them, else a copy
  // in `room`, which only grows. Null if they are gone.
  const std::byte* Row(size_t row, std::vector<std::byte>& room) const;

 private:
  struct Part {
    Fragments bytes;
    std::vector<size_t> begins;  // of each of `bytes`, in all of them
    std::shared_ptr<const Mapping> mapping;
    size_t row_bytes;
    size_t stride_bytes;
  };

  static bool Copy(const Part& part, size_t row, std::byte* to);

  std::vector<Part> parts_;
};

}  // namespace tokendraw

#endif  // TOKENDRAW_SERVICE_TENSOR_H_
