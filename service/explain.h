// The ExplainRow call.
#ifndef TOKENDRAW_SERVICE_EXPLAIN_H_
#define TOKENDRAW_SERVICE_EXPLAIN_H_

#include <cstdint>

#include "absl/status/status.h"
#include "service/shared_memory.h"
#include "tokendraw/v1/sampling.pb.h"

namespace tokendraw {

// Largest vocabulary of a row that can be explained, and the memory that it takes at most.
inline constexpr int32_t kMostExplainedVocab = 1 << 20;
inline constexpr int64_t kExplainedBytesPerToken = 64;

// Fills `response`. INVALID_ARGUMENT lists all violations. `shared_memory` is null if the server
// takes none.
absl::Status ExplainRow(const v1::ExplainRowRequest& request, SharedMemory* shared_memory,
                        v1::ExplainRowResponse& response);

}  // namespace tokendraw

#endif  // TOKENDRAW_SERVICE_EXPLAIN_H_
