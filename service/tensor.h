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

// What reading a row needs, kept from row to row.
struct RowRoom {
  Fragments pieces;
  std::vector<std::byte> copy;
};

// Made of parts, each of which holds some columns of all rows; in order they are a row.
class Tensor {
 public:
  // A part of which each row has `row_bytes`, and begins `stride_bytes` after the one before. The
  // bytes must outlive this object, and there must be enough of them for all rows.
  void AddPart(Fragments bytes, size_t row_bytes, size_t stride_bytes);
  // One in shared memory, from byte `offset` on.
  void AddPart(std::shared_ptr<const Mapping> mapping, size_t offset, size_t row_bytes,
               size_t stride_bytes);

  // The bytes of a row, in pieces: where they lie, or a copy of those that others can change. Good
  // until the next call with this `room`. Nothing if they are gone.
  std::span<const std::span<const std::byte>> Row(size_t row, RowRoom& room) const;

 private:
  struct Part {
    Fragments bytes;
    std::vector<size_t> begins;  // of each of `bytes`, in all of them
    std::shared_ptr<const Mapping> mapping;
    size_t row_bytes;
    size_t stride_bytes;
  };

  static void AddPieces(const Part& part, size_t row, Fragments& pieces);

  std::vector<Part> parts_;
};

}  // namespace tokendraw

#endif  // TOKENDRAW_SERVICE_TENSOR_H_
