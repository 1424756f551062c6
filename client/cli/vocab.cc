#include "client/cli/vocab.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "client/cli/table.h"

namespace tokendraw::cli {

absl::StatusOr<std::vector<std::string>> ReadVocab(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) return absl::NotFoundError(absl::StrCat(file, ": cannot be opened"));
  const nlohmann::json json = nlohmann::json::parse(stream, nullptr, /*allow_exceptions=*/false);
  std::vector<std::string> vocab;
  const auto is_text = [](const nlohmann::json& entry) { return entry.is_string(); };
  if (!json.is_array() || !std::all_of(json.begin(), json.end(), is_text)) {
    return absl::InvalidArgumentError(absl::StrCat(file, ": not a JSON array of strings"));
  }
  for (const nlohmann::json& entry : json) vocab.push_back(entry.get<std::string>());
  return vocab;
}

std::string TextOf(std::int32_t id, const std::vector<std::string>& vocab) {
  const bool known = id >= 0 && static_cast<std::size_t>(id) < vocab.size();
  return known ? Quote(vocab[id]) : "";
}

}  // namespace tokendraw::cli
