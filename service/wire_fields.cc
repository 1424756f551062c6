#include "service/wire_fields.h"

#include <algorithm>
#include <limits>

namespace tokendraw {
namespace {

// As many bytes as protobuf takes for a tag or a length, and for a value.
constexpr int kShortVarint = 5;
constexpr int kLongVarint = 10;

// Reads the parts of a field from the `left` bytes that the message still has.
struct FieldReader {
  FragmentCursor cursor;
  size_t left;

  bool Varint(int most_bytes, uint64_t& value) {
    value = 0;
    for (int i = 0; i < most_bytes && left > 0; ++i) {
      const auto byte = std::to_integer<uint64_t>(cursor.Next(1)[0]);
      --left;
      value |= (byte & 0x7f) << (7 * i);
      if (byte < 0x80) return true;
    }
    return false;
  }

  bool Skip(size_t size) {
    if (size > left) return false;
    left -= size;
    while (size > 0) size -= cursor.Next(size).size();
    return true;
  }
};

}  // namespace

std::span<const std::byte> FragmentCursor::Next(size_t size) {
  while (index_ < fragments_->size()) {
    const auto ahead = (*fragments_)[index_].subspan(offset_);
    if (ahead.empty()) {
      ++index_;
      offset_ = 0;
      continue;
    }
    const auto taken = ahead.first(std::min(size, ahead.size()));
    offset_ += taken.size();
    return taken;
  }
  return {};
}

void AppendBytes(FragmentCursor from, size_t size, Fragments& to) {
  while (size > 0) {
    to.push_back(from.Next(size));
    size -= to.back().size();
  }
}

bool ForEachField(FragmentCursor begin, size_t size, Fragments& rest,
                  absl::FunctionRef<FieldAction(const WireField&)> visit) {
  FieldReader reader{begin, size};
  while (reader.left > 0) {
    const FieldReader start = reader;
    uint64_t tag, value;
    if (!reader.Varint(kShortVarint, tag) || tag > std::numeric_limits<uint32_t>::max()) {
      return false;
    }
    WireField field{static_cast<int>(tag >> 3), false, begin, 0};
    switch (tag & 7) {
      case 0:
        if (!reader.Varint(kLongVarint, value)) return false;
        break;
      case 1:
        if (!reader.Skip(8)) return false;
        break;
      case 2:
        if (!reader.Varint(kShortVarint, value)) return false;
        field = {field.number, true, reader.cursor, value};
        if (!reader.Skip(value)) return false;
        break;
      case 5:
        if (!reader.Skip(4)) return false;
        break;
      default:
        return false;
    }
    const FieldAction action = visit(field);
    if (action == FieldAction::kGiveUp) return false;
    if (action == FieldAction::kKeep) AppendBytes(start.cursor, start.left - reader.left, rest);
  }
  return true;
}

bool FragmentStream::Next(const void** data, int* size) {
  while (index_ < fragments_.size() && offset_ == fragments_[index_].size()) {
    ++index_;
    offset_ = 0;
  }
  if (index_ == fragments_.size()) return false;
  constexpr size_t kMost = std::numeric_limits<int>::max();
  const auto ahead = fragments_[index_].subspan(offset_);
  *data = ahead.data();
  *size = static_cast<int>(std::min(ahead.size(), kMost));
  offset_ += static_cast<size_t>(*size);
  count_ += *size;
  return true;
}

// Only what the last Next gave is ever backed up over.
void FragmentStream::BackUp(int count) {
  offset_ -= static_cast<size_t>(count);
  count_ -= count;
}

bool FragmentStream::Skip(int count) {
  while (count > 0) {
    const void* data;
    int size;
    if (!Next(&data, &size)) return false;
    if (size > count) BackUp(size - count);
    count -= std::min(size, count);
  }
  return true;
}

}  // namespace tokendraw
