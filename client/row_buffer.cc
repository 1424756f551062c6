#include "client/row_buffer.h"

#include <sys/mman.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/shared_file.h"

namespace tokendraw {

absl::StatusOr<std::shared_ptr<RowBuffer>> RowBuffer::Create(
    std::shared_ptr<const SharedDirectory> directory, std::size_t bytes) {
  if (directory != nullptr) {
    absl::StatusOr<std::unique_ptr<SharedFile>> file =
        SharedFile::Create(std::move(directory), bytes);
    if (!file.ok()) return file.status();
    const std::span<std::byte> memory = (*file)->bytes();
    return std::shared_ptr<RowBuffer>(new RowBuffer(*std::move(file), memory));
  }
  void* const start =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (start == MAP_FAILED) {
    return absl::ResourceExhaustedError(absl::StrCat("no memory for ", bytes, " bytes of rows"));
  }
  return std::shared_ptr<RowBuffer>(
      new RowBuffer(nullptr, {static_cast<std::byte*>(start), bytes}));
}

RowBuffer::RowBuffer(std::unique_ptr<const SharedFile> file, std::span<std::byte> bytes)
    : file_(std::move(file)), bytes_(bytes) {}

RowBuffer::~RowBuffer() {
  if (file_ == nullptr) munmap(bytes_.data(), bytes_.size());
}

}  // namespace tokendraw
