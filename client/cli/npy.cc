// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "client/cli/binary_file.h"
#include "client/cli/logits_file.h"

namespace tokendraw::cli {
namespace {

using nlohmann::json;

constexpr char kMagic[] = "\x93NUMPY";
constexpr std::size_t kPreambleBytes = 8;  // the magic, the major and the minor version

// A header is a Python dictionary of strings, booleans and tuples, near enough to JSON:
// {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
json ParseHeader(const std::string& text) {
  std::string as_json = absl::StrReplaceAll(
      text, {{"'", "\""}, {"(", "["}, {")", "]"}, {"True", "true"}, {"False", "false"}});
  as_json = absl::StrReplaceAll(as_json, {{", ]", "]"}, {",]", "]"}, {", }", "}"}, {",}", "}"}});
  return json::parse(as_json, nullptr, /*allow_exceptions=*/false);
}

}  // namespace

absl::StatusOr<LogitsRows> ReadNpy(const std::string& path) {
  absl::StatusOr<BinaryFile> file = BinaryFile::Open(path);
  if (!file.ok()) return file.status();
  const absl::StatusOr<std::string> preamble = file->Read(0, kPreambleBytes);
  if (!preamble.ok()) return preamble.status();
  const int major = static_cast<unsigned char>((*preamble)[6]);
  if (!preamble->starts_with(kMagic) || major < 1 || major > 3) {
    return absl::InvalidArgumentError("not a .npy file of version 1, 2 or 3");
  }
  const std::uint64_t length_bytes = major == 1 ? 2 : 4;
  const absl::StatusOr<std::string> length_text = file->Read(kPreambleBytes, length_bytes);
  if (!length_text.ok()) return length_text.status();
  std::uint64_t length = 0;
  for (std::uint64_t i = length_bytes; i-- > 0;) {
    length = length << 8 | static_cast<unsigned char>((*length_text)[i]);
  }
  const absl::StatusOr<std::string> text = file->Read(kPreambleBytes + length_bytes, length);
  if (!text.ok()) return text.status();
  const json header = ParseHeader(*text);
  if (!header.is_object()) return absl::InvalidArgumentError("the header is not a dictionary");

  const json& descr = Member(header, "descr");
  v1::DataType type;
  if (descr == "<f4") {
    type = v1::DATA_TYPE_F32;
  } else if (descr == "<f2") {
    type = v1::DATA_TYPE_F16;
  } else if (descr == "<u2") {
    type = v1::DATA_TYPE_BF16;  // numpy has no name for it
  } else {
    return absl::InvalidArgumentError("the dtype must be '<f4', '<f2' or '<u2' (BF16)");
  }
  if (Member(header, "fortran_order") != json(false)) {
    return absl::InvalidArgumentError("the array must be in C order");
  }
  absl::StatusOr<LogitsRows> rows = RowsOfShape(Member(header, "shape"), type);
  if (!rows.ok()) return rows.status();
  const std::uint64_t data_start = kPreambleBytes + length_bytes + length;
  if (file->size() - data_start != DataBytes(*rows)) {
    return absl::InvalidArgumentError(absl::StrCat("the shape needs ", DataBytes(*rows),
                                                   " bytes of data, the file has ",
                                                   file->size() - data_start));
  }
  absl::StatusOr<std::string> data = file->Read(data_start, DataBytes(*rows));
  if (!data.ok()) return data.status();
  rows->data = *std::move(data);
  return rows;
}

}  // namespace tokendraw::cli
