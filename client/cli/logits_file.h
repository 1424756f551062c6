// Logits rows from files.
#ifndef TOKENDRAW_CLIENT_CLI_LOGITS_FILE_H_
#define TOKENDRAW_CLIENT_CLI_LOGITS_FILE_H_

#include <cstddef>
#include <cstdint>
#include <istream>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tokendraw/v1/logits.pb.h"

namespace tokendraw::cli {

// Row-major [rows, vocab_size] elements, little-endian; both at least 1.
struct LogitsRows {
  v1::DataType type = v1::DATA_TYPE_UNSPECIFIED;
  std::int64_t rows = 0;
  std::int32_t vocab_size = 0;
  std::string data;
};

// The rows of a .safetensors or .npy file; any other file is JSON, and "-" is JSON from `in`.
// `tensor` names one of a safetensors file (ReadSafetensors) and is INVALID_ARGUMENT elsewhere.
// Errors name the file: NOT_FOUND if it cannot be opened, INVALID_ARGUMENT if it is not well formed
// or holds what is not logits.
absl::StatusOr<LogitsRows> ReadLogits(const std::string& file,
                                      const std::optional<std::string>& tensor, std::istream& in);

// One F32, F16 or BF16 tensor, [rows, vocab] or [vocab]: `tensor`, or else "logits", or else the
// only one. INVALID_ARGUMENT as above.
absl::StatusOr<LogitsRows> ReadSafetensors(const std::string& file,
                                           const std::optional<std::string>& tensor);

// '<f4', '<f2', or '<u2' taken as BF16; C order; 1-D or 2-D. INVALID_ARGUMENT as above.
absl::StatusOr<LogitsRows> ReadNpy(const std::string& file);

// An array of numbers, or an array of such arrays of one length, as F32. null and "-inf" are
// -infinity; "nan" and "inf" are themselves. INVALID_ARGUMENT as above, with row and element.
absl::StatusOr<LogitsRows> ParseJsonRows(std::istream& in);

// A row list such as "0,3,5-9", in its order. INVALID_ARGUMENT if it is none, or if a row is not in
// [0, rows).
absl::StatusOr<std::vector<std::int64_t>> ParseRowList(const std::string& text, std::int64_t rows);

}  // namespace tokendraw::cli

#endif  // TOKENDRAW_CLIENT_CLI_LOGITS_FILE_H_
