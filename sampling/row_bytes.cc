#include "sampling/row_bytes.h"

#include <algorithm>

namespace tokendraw::sampling {

RowBytes::RowBytes(const LogitsRow& row) : type_(row.type), pieces_(row.pieces) {
  piece_ = pieces_.empty() ? std::span(static_cast<const std::byte*>(row.data),
                                       static_cast<size_t>(row.vocab_size) * ElementSize(row.type))
                           : pieces_.front();
}

void RowBytes::Seek(size_t at) {
  if (at < begin_) {
    piece_ = pieces_.front();
    index_ = begin_ = 0;
  }
  for (; at - begin_ >= piece_.size(); piece_ = pieces_[++index_]) begin_ += piece_.size();
  offset_ = at - begin_;
}

const std::byte* RowBytes::NextAcross(size_t size, std::byte* room) {
  const std::span<const std::byte> here = Here();
  if (here.size() == size) {
    GoOn();
    return here.data();
  }
  for (size_t done = 0; done < size;) {
    const size_t count = std::min(size - done, piece_.size() - offset_);
    std::copy_n(piece_.data() + offset_, count, room + done);
    done += count;
    offset_ += count;
    if (offset_ == piece_.size()) GoOn();
  }
  return room;
}

void RowBytes::GoOn() {
  if (index_ + 1 >= pieces_.size()) {
    offset_ = piece_.size();
    return;
  }
  begin_ += piece_.size();
  piece_ = pieces_[++index_];
  offset_ = 0;
}

}  // namespace tokendraw::sampling
