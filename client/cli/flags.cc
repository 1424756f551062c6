#include "client/cli/flags.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_cat.h"

namespace tokendraw::cli {

std::optional<std::string> Arguments::Get(const std::string& name) const {
  const auto found = flags.find(name);
  if (found == flags.end()) return std::nullopt;
  return found->second.back();
}

absl::StatusOr<Arguments> ParseArguments(std::span<const Flag> flags,
                                         std::span<const std::string> words) {
  Arguments arguments;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "--") {
      arguments.positional.insert(arguments.positional.end(), words.begin() + i + 1, words.end());
      break;
    }
    if (word == "-" || !word.starts_with("-")) {
      arguments.positional.push_back(word);
      continue;
    }
    const std::size_t equals = word.find('=');
    const std::string name = word.starts_with("--") ? word.substr(2, equals - 2) : "";
    const auto flag =
        std::find_if(flags.begin(), flags.end(), [&](const Flag& f) { return f.name == name; });
    if (flag == flags.end()) {
      return absl::InvalidArgumentError(absl::StrCat("unknown flag ", word.substr(0, equals)));
    }
    std::string value = "true";
    if (equals != std::string::npos) {
      value = word.substr(equals + 1);
    } else if (!flag->value.empty()) {
      if (i + 1 == words.size()) {
        return absl::InvalidArgumentError(absl::StrCat("--", name, " needs a value"));
      }
      value = words[++i];
    }
    std::vector<std::string>& values = arguments.flags[name];
    if (!values.empty() && !flag->repeats) {
      return absl::InvalidArgumentError(absl::StrCat("--", name, " is given twice"));
    }
    values.push_back(value);
  }
  return arguments;
}

std::vector<Flag> Join(std::initializer_list<std::vector<Flag>> tables) {
  std::vector<Flag> joined;
  for (const std::vector<Flag>& table : tables) {
    joined.insert(joined.end(), table.begin(), table.end());
  }
  return joined;
}

std::string FlagHelp(std::span<const Flag> flags) {
  std::string help;
  for (const Flag& flag : flags) {
    absl::StrAppend(&help, "  --", flag.name, flag.value.empty() ? "" : " ", flag.value);
    if (!flag.range.empty()) absl::StrAppend(&help, "  ", flag.range);
    if (!flag.unset.empty()) absl::StrAppend(&help, "  (default: ", flag.unset, ")");
    absl::StrAppend(&help, "\n      ", flag.help, "\n");
  }
  return help;
}

}  // namespace tokendraw::cli
