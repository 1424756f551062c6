#include "client/cli/logits_file.h"

#include <fstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/cli/number.h"

namespace tokendraw::cli {
namespace {

absl::StatusOr<LogitsRows> ReadByName(const std::string& file,
                                      const std::optional<std::string>& tensor, std::istream& in) {
  if (file.ends_with(".safetensors")) return ReadSafetensors(file, tensor);
  if (tensor) return absl::InvalidArgumentError("--tensor is for .safetensors files");
  if (file.ends_with(".npy")) return ReadNpy(file);
  if (file == "-") return ParseJsonRows(in);
  std::ifstream stream(file, std::ios::binary);
  if (!stream) return absl::NotFoundError("cannot be opened");
  return ParseJsonRows(stream);
}

}  // namespace

absl::StatusOr<LogitsRows> ReadLogits(const std::string& file,
                                      const std::optional<std::string>& tensor, std::istream& in) {
  absl::StatusOr<LogitsRows> rows = ReadByName(file, tensor, in);
  if (rows.ok()) return rows;
  return absl::Status(rows.status().code(), absl::StrCat(file == "-" ? "stdin" : file, ": ",
                                                         std::string(rows.status().message())));
}

absl::StatusOr<std::vector<std::int64_t>> ParseRowList(const std::string& text, std::int64_t rows) {
  std::vector<std::int64_t> list;
  for (const std::string& part : std::vector<std::string>(absl::StrSplit(text, ','))) {
    // Searched from 1 on, so that "-1" is a number and not a range.
    const std::size_t dash = part.find('-', 1);
    const absl::StatusOr<std::int64_t> first = ParseNumber<std::int64_t>(part.substr(0, dash));
    if (!first.ok()) return first.status();
    const absl::StatusOr<std::int64_t> last =
        dash == std::string::npos ? first : ParseNumber<std::int64_t>(part.substr(dash + 1));
    if (!last.ok()) return last.status();
    if (*first < 0 || *last < *first || *last >= rows) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"", part, "\" is not within rows 0 to ", rows - 1));
    }
    for (std::int64_t row = *first; row <= *last; ++row) list.push_back(row);
  }
  return list;
}

}  // namespace tokendraw::cli
