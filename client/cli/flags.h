// Command line flags: a table of them, their values, their help.
#ifndef TOKENDRAW_CLIENT_CLI_FLAGS_H_
#define TOKENDRAW_CLIENT_CLI_FLAGS_H_

#include <initializer_list>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace tokendraw::cli {

struct Flag {
  std::string name;   // without the dashes
  std::string value;  // what the value is, such as "NUMBER"; empty for a switch
  std::string range;  // values that make sense; may be empty
  std::string unset;  // what holds without the flag
  std::string help;   // one sentence
  bool repeats = false;
};

struct Arguments {
  // Values by flag name, in order; a switch that was given without a value has "true".
  std::map<std::string, std::vector<std::string>> flags;
  std::vector<std::string> positional;

  bool Has(const std::string& name) const { return flags.contains(name); }
  std::optional<std::string> Get(const std::string& name) const;
};

// One table of several.
std::vector<Flag> Join(std::initializer_list<std::vector<Flag>> tables);

// Reads `--name value` and `--name=value`; a switch takes a value only after '='. "-" is
// positional, and so is all that follows "--". INVALID_ARGUMENT, naming the flag: unknown, without
// its value, or given twice though it does not repeat.
absl::StatusOr<Arguments> ParseArguments(std::span<const Flag> flags,
                                         std::span<const std::string> words);

// Two lines for each flag.
std::string FlagHelp(std::span<const Flag> flags);

}  // namespace tokendraw::cli

#endif  // TOKENDRAW_CLIENT_CLI_FLAGS_H_
