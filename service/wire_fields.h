// The fields of a serialised protobuf message that lies in several places.
#ifndef TOKENDRAW_SERVICE_WIRE_FIELDS_H_
#define TOKENDRAW_SERVICE_WIRE_FIELDS_H_

#include <google/protobuf/io/zero_copy_stream.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/functional/function_ref.h"

namespace tokendraw {

// Bytes that lie in several places.
using Fragments = std::vector<std::span<const std::byte>>;

// A place in fragments, which must outlive it.
class FragmentCursor {
 public:
  explicit FragmentCursor(const Fragments& fragments) : fragments_(&fragments) {}

  // Moves on by up to `size` bytes that lie together, at least one if there are any, and returns
  // them.
  std::span<const std::byte> Next(size_t size);

 private:
  const Fragments* fragments_;
  size_t index_ = 0;
  size_t offset_ = 0;
};

// Appends the `size` bytes at `from`, of which there must be so many.
void AppendBytes(FragmentCursor from, size_t size, Fragments& to);

// One field. If it is length-delimited, `body` is where its `size` bytes begin.
struct WireField {
  int number;
  bool is_length_delimited;
  FragmentCursor body;
  size_t size;
};

enum class FieldAction { kKeep, kTake, kGiveUp };

// Visits the fields of the message in the `size` bytes at `begin`, of which there must be so many.
// Those that are kept are appended to `rest`, tags and all. False if a field is none, is a group,
// or `visit` gave up.
bool ForEachField(FragmentCursor begin, size_t size, Fragments& rest,
                  absl::FunctionRef<FieldAction(const WireField&)> visit);

// For protobuf to parse from. `fragments` must outlive it.
class FragmentStream final : public google::protobuf::io::ZeroCopyInputStream {
 public:
  explicit FragmentStream(const Fragments& fragments) : fragments_(fragments) {}

  bool Next(const void** data, int* size) override;
  void BackUp(int count) override;
  bool Skip(int count) override;
  int64_t ByteCount() const override { return count_; }

 private:
  const Fragments& fragments_;
  size_t index_ = 0;   // of the fragment that Next gives
  size_t offset_ = 0;  // in it
  int64_t count_ = 0;
};

}  // namespace tokendraw

#endif  // TOKENDRAW_SERVICE_WIRE_FIELDS_H_
