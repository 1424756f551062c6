// https://github.com/huggingface/safetensors: an 8-byte header length, a JSON header, the data.
#include <cstring>

#include "absl/strings/str_cat.h"
#include "client/cli/binary_file.h"
#include "client/cli/logits_file.h"

namespace tokendraw::cli {
namespace {

using nlohmann::json;

constexpr std::uint64_t kLengthBytes = 8;
// The reference implementation's limit.
constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;

absl::StatusOr<v1::DataType> TypeOf(const json& tensor) {
  const auto dtype = tensor.find("dtype");
  const std::string name =
      dtype != tensor.end() && dtype->is_string() ? dtype->get<std::string>() : "";
  if (name == "F32") return v1::DATA_TYPE_F32;
  if (name == "F16") return v1::DATA_TYPE_F16;
  if (name == "BF16") return v1::DATA_TYPE_BF16;
  return absl::InvalidArgumentError(
      absl::StrCat("the dtype must be F32, F16 or BF16, not \"", name, "\""));
}

// The tensor to read: an iterator of `header`.
absl::StatusOr<json::const_iterator> Choose(const json& header,
                                            const std::optional<std::string>& name) {
  if (const auto found = header.find(name.value_or("logits")); found != header.end()) return found;
  auto only = header.end();
  std::string names;
  int count = 0;
  for (auto tensor = header.begin(); tensor != header.end(); ++tensor) {
    if (tensor.key() == "__metadata__") continue;
    only = tensor;
    if (++count <= 20) absl::StrAppend(&names, count == 1 ? "" : ", ", tensor.key());
  }
  if (!name && count == 1) return only;
  return absl::InvalidArgumentError(absl::StrCat(
      name ? absl::StrCat("no tensor \"", *name, "\"") : "--tensor must name one of the tensors",
      "; the file has ", count == 0 ? "none" : names, count > 20 ? ", ..." : ""));
}

}  // namespace

absl::StatusOr<LogitsRows> ReadSafetensors(const std::string& path,
                                           const std::optional<std::string>& tensor) {
  absl::StatusOr<BinaryFile> file = BinaryFile::Open(path);
  if (!file.ok()) return file.status();
  const absl::StatusOr<std::string> length_bytes = file->Read(0, kLengthBytes);
  if (!length_bytes.ok()) return length_bytes.status();
  std::uint64_t length;
  std::memcpy(&length, length_bytes->data(), kLengthBytes);
  if (length > kMaxHeaderBytes) {
    return absl::InvalidArgumentError(absl::StrCat("the header claims ", length, " bytes"));
  }
  const absl::StatusOr<std::string> text = file->Read(kLengthBytes, length);
  if (!text.ok()) return text.status();
  const json header = json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (!header.is_object()) return absl::InvalidArgumentError("the header is not a JSON object");

  const absl::StatusOr<json::const_iterator> chosen = Choose(header, tensor);
  if (!chosen.ok()) return chosen.status();
  const json& entry = **chosen;
  if (!entry.is_object()) return absl::InvalidArgumentError("the tensor is not a JSON object");
  const absl::StatusOr<v1::DataType> type = TypeOf(entry);
  if (!type.ok()) return type.status();
  absl::StatusOr<LogitsRows> rows = RowsOfShape(Member(entry, "shape"), *type);
  if (!rows.ok()) return rows.status();

  const json& offsets = Member(entry, "data_offsets");
  if (!offsets.is_array() || offsets.size() != 2 || !offsets[0].is_number_unsigned() ||
      !offsets[1].is_number_unsigned()) {
    return absl::InvalidArgumentError("data_offsets must be [begin, end]");
  }
  const auto begin = offsets[0].get<std::uint64_t>();
  const auto end = offsets[1].get<std::uint64_t>();
  if (end - begin != DataBytes(*rows)) {
    return absl::InvalidArgumentError(absl::StrCat("data_offsets [", begin, ", ", end,
                                                   "] do not span the ", DataBytes(*rows),
                                                   " bytes of the shape"));
  }
  const std::uint64_t data_start = kLengthBytes + length;
  if (begin > file->size()) return absl::InvalidArgumentError("truncated");
  absl::StatusOr<std::string> data = file->Read(data_start + begin, end - begin);
  if (!data.ok()) return data.status();
  rows->data = *std::move(data);
  return rows;
}

}  // namespace tokendraw::cli
