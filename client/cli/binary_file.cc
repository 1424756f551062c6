#include "client/cli/binary_file.h"

#include <filesystem>
#include <limits>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "client/tensor.h"

namespace tokendraw::cli {

absl::StatusOr<BinaryFile> BinaryFile::Open(const std::string& path) {
  std::error_code error;
  BinaryFile file;
  file.size_ = std::filesystem::file_size(path, error);
  if (error) return absl::NotFoundError(error.message());
  file.stream_.open(path, std::ios::binary);
  if (!file.stream_) return absl::NotFoundError("cannot be opened");
  return file;
}

absl::StatusOr<std::string> BinaryFile::Read(std::uint64_t offset, std::uint64_t count) {
  if (offset > size_ || count > size_ - offset) {
    return absl::InvalidArgumentError(
        absl::StrCat("truncated: ", count, " bytes wanted at ", offset, ", the file has ", size_));
  }
  std::string bytes(count, '\0');
  stream_.seekg(static_cast<std::streamoff>(offset));
  if (!stream_.read(bytes.data(), static_cast<std::streamsize>(count))) {
    return absl::InvalidArgumentError("cannot be read");
  }
  return bytes;
}

const nlohmann::json& Member(const nlohmann::json& object, const char* key) {
  static const nlohmann::json* const kNull = new nlohmann::json();
  const auto found = object.find(key);
  return found == object.end() ? *kNull : *found;
}

absl::StatusOr<LogitsRows> RowsOfShape(const nlohmann::json& shape, v1::DataType type) {
  LogitsRows rows;
  rows.type = type;
  std::uint64_t sizes[2] = {1, 0};
  bool good = shape.is_array() && (shape.size() == 1 || shape.size() == 2);
  for (std::size_t i = 0; good && i < shape.size(); ++i) {
    good = shape[i].is_number_unsigned();
    if (good) sizes[2 - shape.size() + i] = shape[i].get<std::uint64_t>();
  }
  std::uint64_t elements = 0;
  std::uint64_t bytes = 0;
  good = good && sizes[0] >= 1 && sizes[1] >= 1 &&
         sizes[1] <= std::numeric_limits<std::int32_t>::max() &&
         !__builtin_mul_overflow(sizes[0], sizes[1], &elements) &&
         !__builtin_mul_overflow(elements, ElementBytes(type), &bytes) &&
         bytes <= std::numeric_limits<std::int64_t>::max();
  if (!good) {
    return absl::InvalidArgumentError(
        "the shape must be [vocab] or [rows, vocab], each at least 1");
  }
  rows.rows = static_cast<std::int64_t>(sizes[0]);
  rows.vocab_size = static_cast<std::int32_t>(sizes[1]);
  return rows;
}

std::uint64_t DataBytes(const LogitsRows& rows) {
  return static_cast<std::uint64_t>(rows.rows) * static_cast<std::uint64_t>(rows.vocab_size) *
         ElementBytes(rows.type);
}

}  // namespace tokendraw::cli
