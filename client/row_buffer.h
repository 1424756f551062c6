// Where a worker writes its logits, so that nobody has to copy them.
#ifndef TOKENDRAW_CLIENT_ROW_BUFFER_H_
#define TOKENDRAW_CLIENT_ROW_BUFFER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "absl/status/statusor.h"
#include "tokendraw/v1/logits.pb.h"

namespace tokendraw {

class SharedDirectory;
class SharedFile;

// How rows went to a server.
enum class Payload {
  kNone,          // not yet
  kInline,        // in the message
  kSharedMemory,  // the server read them where they are
};

// Memory for logits rows, best the destination of the copy from the device, and best written again
// step after step: a page is slow only when it is new. Made by Client::CreateRowBuffer. A message
// that gRPC has not let go of holds the memory, too.
//
// Its bytes must not change from the moment that they are sent until the reply.
class RowBuffer {
 public:
  // Zero bytes in a file of `directory`, or in memory of this process if that is null; `bytes`
  // >= 1. RESOURCE_EXHAUSTED with the size if there is no room.
  static absl::StatusOr<std::shared_ptr<RowBuffer>> Create(
      std::shared_ptr<const SharedDirectory> directory, std::size_t bytes);
  ~RowBuffer();
  RowBuffer(const RowBuffer&) = delete;
  RowBuffer& operator=(const RowBuffer&) = delete;

  // All of it, from a page's beginning on.
  std::span<std::byte> bytes() const { return bytes_; }

  // How its rows went out the last time.
  Payload last_payload() const { return last_payload_.load(std::memory_order_relaxed); }

  // For the library: the file, or null; and what last_payload says.
  const SharedFile* file() const { return file_.get(); }
  void set_last_payload(Payload payload) const {
    last_payload_.store(payload, std::memory_order_relaxed);
  }

 private:
  RowBuffer(std::unique_ptr<const SharedFile> file, std::span<std::byte> bytes);

  const std::unique_ptr<const SharedFile> file_;
  const std::span<std::byte> bytes_;
  mutable std::atomic<Payload> last_payload_ = Payload::kNone;
};

// The tensor of a request whose LogitsTensor has no payload: its row_count * row_stride elements
// begin at byte `offset` of `buffer`.
struct Rows {
  std::shared_ptr<const RowBuffer> buffer;
  std::size_t offset = 0;

  // Of the whole rows behind a request with candidates, whose own tensor cannot say it; elsewhere
  // LogitsTensor says it. Unset: F32, and vocab_size elements from row to row.
  v1::DataType data_type = v1::DATA_TYPE_F32;
  std::int32_t row_stride = 0;
};

}  // namespace tokendraw

#endif  // TOKENDRAW_CLIENT_ROW_BUFFER_H_
