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

const std::byte* Tensor::Row(size_t row, std::vector<std::byte>& room) const {
  if (parts_.size() == 1 && parts_[0].mapping == nullptr) {
    const Part& part = parts_[0];
    const size_t begin = row * part.stride_bytes;
    const size_t index = FragmentAt(part.begins, begin);
    const auto ahead = part.bytes[index].subspan(begin - part.begins[index]);
    if (ahead.size() >= part.row_bytes) return ahead.data();
  }
  size_t bytes = 0;
  for (const Part& part : parts_) bytes += part.row_bytes;
  if (room.size() < bytes) room.resize(bytes);
  std::byte* to = room.data();
  for (const Part& part : parts_) {
    if (!Copy(part, row, to)) return nullptr;
    to += part.row_bytes;
  }
  return room.data();
}

bool Tensor::Copy(const Part& part, size_t row, std::byte* to) {
  const size_t begin = row * part.stride_bytes;
  if (part.mapping != nullptr) {
    return GuardedCopy(part.bytes[0].subspan(begin, part.row_bytes), to);
  }
  size_t index = FragmentAt(part.begins, begin);
  size_t offset = begin - part.begins[index];
  for (size_t left = part.row_bytes; left > 0; ++index, offset = 0) {
    const auto ahead = part.bytes[index].subspan(offset);
    const size_t size = std::min(left, ahead.size());
    std::copy_n(ahead.data(), size, to);
    to += size;
    left -= size;
  }
  return true;
}

}  // namespace tokendraw
