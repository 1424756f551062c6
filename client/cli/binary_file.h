// What the readers of binary files share.
#ifndef TOKENDRAW_CLIENT_CLI_BINARY_FILE_H_
#define TOKENDRAW_CLIENT_CLI_BINARY_FILE_H_

#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/status/statusor.h"
#include "client/cli/logits_file.h"

namespace tokendraw::cli {

// A regular file, read by ranges.
class BinaryFile {
 public:
  // NOT_FOUND if `path` is no regular file or cannot be opened.
  static absl::StatusOr<BinaryFile> Open(const std::string& path);

  std::uint64_t size() const { return size_; }

  // `count` bytes from `offset`. INVALID_ARGUMENT if the file ends before.
  absl::StatusOr<std::string> Read(std::uint64_t offset, std::uint64_t count);

 private:
  std::ifstream stream_;
  std::uint64_t size_ = 0;
};

// The member `key` of an object, or null. By reference: the copy of a deep value would recurse.
const nlohmann::json& Member(const nlohmann::json& object, const char* key);

// Rows of `type` with the shape that a header gives as a JSON array, without the data.
// INVALID_ARGUMENT unless it is [vocab] or [rows, vocab], each at least 1, vocab below 2^31 and the
// bytes below 2^63.
absl::StatusOr<LogitsRows> RowsOfShape(const nlohmann::json& shape, v1::DataType type);

// How many bytes the data of `rows` has.
std::uint64_t DataBytes(const LogitsRows& rows);

}  // namespace tokendraw::cli

#endif  // TOKENDRAW_CLIENT_CLI_BINARY_FILE_H_
