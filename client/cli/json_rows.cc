#include <cmath>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "client/cli/logits_file.h"
#include "client/cli/number.h"

namespace tokendraw::cli {
namespace {

using nlohmann::json;

absl::StatusOr<float> ToLogit(const json& value) {
  if (value.is_null()) return -std::numeric_limits<float>::infinity();
  if (value.is_string()) {
    const absl::StatusOr<float> number = ParseNumber<float>(value.get<std::string>());
    if (number.ok() && !std::isfinite(*number)) return number;
    return absl::InvalidArgumentError("a string must be \"-inf\", \"inf\" or \"nan\"");
  }
  if (!value.is_number()) return absl::InvalidArgumentError("not a number");
  const auto number = value.get<double>();
  if (std::abs(number) > std::numeric_limits<float>::max()) {
    return absl::InvalidArgumentError(absl::StrCat(number, " does not fit 32 bits"));
  }
  return static_cast<float>(number);
}

absl::Status AppendRow(const json& row, std::int64_t index, LogitsRows& rows) {
  if (!row.is_array() || row.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("row ", index, " is not an array of numbers"));
  }
  if (index == 0) rows.vocab_size = static_cast<std::int32_t>(row.size());
  if (row.size() != static_cast<std::size_t>(rows.vocab_size)) {
    return absl::InvalidArgumentError(
        absl::StrCat("row ", index, " has ", row.size(), " elements, row 0 has ", rows.vocab_size));
  }
  for (std::size_t i = 0; i < row.size(); ++i) {
    const absl::StatusOr<float> logit = ToLogit(row[i]);
    if (!logit.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("row ", index, ", element ", i, ": ",
                                                     std::string(logit.status().message())));
    }
    rows.data.append(reinterpret_cast<const char*>(&*logit), sizeof(float));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<LogitsRows> ParseJsonRows(std::istream& in) {
  const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  const json parsed = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!parsed.is_array() || parsed.empty()) {
    return absl::InvalidArgumentError("not a JSON array of rows or of numbers");
  }
  LogitsRows rows;
  rows.type = v1::DATA_TYPE_F32;
  if (!parsed[0].is_array()) {
    if (absl::Status status = AppendRow(parsed, 0, rows); !status.ok()) return status;
    rows.rows = 1;
    return rows;
  }
  for (const json& row : parsed) {
    if (absl::Status status = AppendRow(row, rows.rows, rows); !status.ok()) return status;
    ++rows.rows;
  }
  return rows;
}

}  // namespace tokendraw::cli
