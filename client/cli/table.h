// Text in aligned columns.
#ifndef TOKENDRAW_CLIENT_CLI_TABLE_H_
#define TOKENDRAW_CLIENT_CLI_TABLE_H_

#include <ostream>
#include <string>
#include <vector>

namespace tokendraw::cli {

// `text` in double quotes, safe to print: control, format and invalid characters, quotes and
// backslashes become escapes such as \n, \u{202e} and \xff. Needs a UTF-8 locale (setlocale); in
// any other, all but ASCII is escaped.
std::string Quote(const std::string& text);

// Width of printable UTF-8 on a terminal, in columns.
int DisplayWidth(const std::string& text);

// The first row is the heading. Columns are set flush left where `left` says so, otherwise flush
// right, with two spaces between; no line ends in a space. All rows have one cell for each column.
void PrintTable(const std::vector<std::vector<std::string>>& rows, const std::vector<bool>& left,
                std::ostream& out);

}  // namespace tokendraw::cli

#endif  // TOKENDRAW_CLIENT_CLI_TABLE_H_
