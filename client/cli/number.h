// Numbers from text.
#ifndef TOKENDRAW_CLIENT_CLI_NUMBER_H_
#define TOKENDRAW_CLIENT_CLI_NUMBER_H_

#include <charconv>
#include <string>
#include <system_error>
#include <type_traits>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

namespace tokendraw::cli {

// The whole of `text` as a T (integer in decimal; floating point with "inf" and "nan").
// INVALID_ARGUMENT if it is something else or does not fit.
template <typename T>
absl::StatusOr<T> ParseNumber(const std::string& text) {
  T value{};
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc::result_out_of_range) {
    return absl::InvalidArgumentError(absl::StrCat(text, " is out of range"));
  }
  if (error != std::errc() || stopped != end) {
    return absl::InvalidArgumentError(absl::StrCat(
        "\"", text, "\" is not ", std::is_floating_point_v<T> ? "a number" : "an integer"));
  }
  return value;
}

}  // namespace tokendraw::cli

#endif  // TOKENDRAW_CLIENT_CLI_NUMBER_H_
