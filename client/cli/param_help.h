// The help of the flags that are made from fields: the one table of it.
#ifndef TOKENDRAW_CLIENT_CLI_PARAM_HELP_H_
#define TOKENDRAW_CLIENT_CLI_PARAM_HELP_H_

#include <string>

namespace tokendraw::cli {

struct FlagText {
  const char* range = "";
  const char* unset = "";
  const char* help = "";
};

// All empty for a name that the table does not have.
FlagText TextOfFlag(const std::string& name);

}  // namespace tokendraw::cli

#endif  // TOKENDRAW_CLIENT_CLI_PARAM_HELP_H_
