#include "client/cli/table.h"

#include <algorithm>
#include <cstddef>
#include <cwchar>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace tokendraw::cli {
namespace {

// Printable by wcwidth's measure, but invisible or able to turn the line around.
bool IsFormat(wchar_t c) {
  return (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
         (c >= 0x2060 && c <= 0x206f) || c == 0xfeff;
}

// The next character of `text` from `at`: its bytes, or 0 if they are no character.
std::size_t NextCharacter(const std::string& text, std::size_t at, wchar_t& character) {
  std::mbstate_t state{};
  const std::size_t bytes = std::mbrtowc(&character, text.data() + at, text.size() - at, &state);
  if (bytes == 0) return 1;  // NUL
  return bytes > text.size() - at ? 0 : bytes;
}

}  // namespace

std::string Quote(const std::string& text) {
  std::string quoted = "\"";
  for (std::size_t at = 0; at < text.size();) {
    wchar_t c = 0;
    const std::size_t bytes = NextCharacter(text, at, c);
    if (bytes == 0) {
      absl::StrAppendFormat(&quoted, "\\x%02x", static_cast<unsigned char>(text[at++]));
      continue;
    }
    if (c == L'\n') {
      quoted += "\\n";
    } else if (c == L'\t') {
      quoted += "\\t";
    } else if (c == L'\r') {
      quoted += "\\r";
    } else if (c == L'"' || c == L'\\') {
      absl::StrAppend(&quoted, "\\", text.substr(at, bytes));
    } else if (c == 0 || wcwidth(c) < 0 || IsFormat(c)) {
      absl::StrAppendFormat(&quoted, "\\u{%x}", static_cast<unsigned>(c));
    } else {
      quoted += text.substr(at, bytes);
    }
    at += bytes;
  }
  return quoted + "\"";
}

int DisplayWidth(const std::string& text) {
  int width = 0;
  for (std::size_t at = 0; at < text.size();) {
    wchar_t c = 0;
    const std::size_t bytes = NextCharacter(text, at, c);
    width += bytes == 0 ? 1 : std::max(wcwidth(c), 0);
    at += std::max<std::size_t>(bytes, 1);
  }
  return width;
}

void PrintTable(const std::vector<std::vector<std::string>>& rows, const std::vector<bool>& left,
                std::ostream& out) {
  std::vector<int> widths(left.size(), 0);
  for (const std::vector<std::string>& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], DisplayWidth(row[i]));
    }
  }
  for (const std::vector<std::string>& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string space(widths[i] - DisplayWidth(row[i]), ' ');
      absl::StrAppend(&line, i == 0 ? "" : "  ", left[i] ? row[i] + space : space + row[i]);
    }
    out << line.substr(0, line.find_last_not_of(' ') + 1) << "\n";
  }
}

}  // namespace tokendraw::cli
