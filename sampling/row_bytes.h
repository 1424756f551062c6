// The bytes of a row, wherever they lie.
#ifndef TOKENDRAW_SAMPLING_ROW_BYTES_H_
#define TOKENDRAW_SAMPLING_ROW_BYTES_H_

#include <cstddef>
#include <span>

#include "sampling/types.h"

namespace tokendraw::sampling {

// A place in the bytes of a row. Going on is cheap; going back starts over.
class RowBytes {
 public:
  RowBytes() = default;
  // At the first byte. What `row` points to must outlive the object.
  explicit RowBytes(const LogitsRow& row);

  DataType type() const { return type_; }

  // Goes to byte `at` of the row, of which there must be one more.
  void Seek(size_t at);

  // The bytes from here on that lie together; at least one.
  std::span<const std::byte> Here() const { return piece_.subspan(offset_); }

  // Goes on by `size` bytes and returns them: where they lie if that is one place, else copied to
  // `room`. There must be so many.
  const std::byte* Next(size_t size, std::byte* room) {
    if (piece_.size() - offset_ <= size) return NextAcross(size, room);
    const std::byte* const bytes = piece_.data() + offset_;
    offset_ += size;
    return bytes;
  }

 private:
  const std::byte* NextAcross(size_t size, std::byte* room);
  // From the end of a piece to the next, if there is one.
  void GoOn();

  DataType type_ = DataType::kF32;
  std::span<const std::span<const std::byte>> pieces_;  // none: piece_ is all
  std::span<const std::byte> piece_;
  size_t index_ = 0;   // of piece_ in pieces_
  size_t begin_ = 0;   // of piece_ in the row
  size_t offset_ = 0;  // in piece_; at its end only at the end of the row
};

}  // namespace tokendraw::sampling

#endif  // TOKENDRAW_SAMPLING_ROW_BYTES_H_
