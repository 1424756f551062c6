#include "service/tensor.h"

#include <algorithm>
#include <utility>

#include "service/guarded_copy.h"

namespace tokendraw {
namespace {

// Index of the fragment that holds byte `at` of all.
size_t FragmentAt(const std::vector<size_t>& begins, size_t at) {
  return static_cast<size_t>(std::ranges::upper_bound(begins, at) - begins.begin()) - 1;
}

}  // namespace

void Tensor::AddPart(Fragments bytes, size_t row_bytes, size_t stride_bytes) {
  std::vector<size_t> begins;
  size_t begin = 0;
  for (const auto& fragment : bytes) {
    begins.push_back(begin);
    begin += fragment.size();
  }
  parts_.push_back({std::move(bytes), std::move(begins), nullptr, row_bytes, stride_bytes});
}

void Tensor::AddPart(std::shared_ptr<const Mapping> mapping, size_t offset, size_t row_bytes,
                     size_t stride_bytes) {
  Fragments bytes = {mapping->bytes().subspan(offset)};
  parts_.push_back({std::move(bytes), {0}, std::move(mapping), row_bytes, stride_bytes});
}

std::span<const std::span<const std::byte>> Tensor::Row(size_t row, RowRoom& room) const {
  room.pieces.clear();
  size_t copied_bytes = 0;
  for (const Part& part : parts_) copied_bytes += part.mapping == nullptr ? 0 : part.row_bytes;
  if (room.copy.size() < copied_bytes) room.copy.resize(copied_bytes);
  std::byte* copy = room.copy.data();
  for (const Part& part : parts_) {
    if (part.mapping == nullptr) {
      AddPieces(part, row, room.pieces);
      continue;
    }
    const auto bytes = part.bytes[0].subspan(row * part.stride_bytes, part.row_bytes);
    if (!GuardedCopy(bytes, copy)) return {};
    room.pieces.emplace_back(copy, bytes.size());
    copy += bytes.size();
  }
  return room.pieces;
}

void Tensor::AddPieces(const Part& part, size_t row, Fragments& pieces) {
  const size_t begin = row * part.stride_bytes;
  size_t index = FragmentAt(part.begins, begin);
  size_t offset = begin - part.begins[index];
  for (size_t left = part.row_bytes; left > 0; ++index, offset = 0) {
    const auto ahead = part.bytes[index].subspan(offset);
    const auto piece = ahead.first(std::min(left, ahead.size()));
    if (!piece.empty()) pieces.push_back(piece);
    left -= piece.size();
  }
}

}  // namespace tokendraw
