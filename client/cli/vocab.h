// Texts of tokens.
#ifndef TOKENDRAW_CLIENT_CLI_VOCAB_H_
#define TOKENDRAW_CLIENT_CLI_VOCAB_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace tokendraw::cli {

// Token texts by id, from a JSON array of strings. INVALID_ARGUMENT if the file is none; NOT_FOUND
// if it cannot be opened.
absl::StatusOr<std::vector<std::string>> ReadVocab(const std::string& file);

// Of a token, quoted; empty if `vocab` has none.
std::string TextOf(std::int32_t id, const std::vector<std::string>& vocab);

}  // namespace tokendraw::cli

#endif  // TOKENDRAW_CLIENT_CLI_VOCAB_H_
