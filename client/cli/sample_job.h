// What `tokendraw sample` has to do, and the messages that it becomes.
#ifndef TOKENDRAW_CLIENT_CLI_SAMPLE_JOB_H_
#define TOKENDRAW_CLIENT_CLI_SAMPLE_JOB_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/logits_file.h"
#include "client/client.h"
#include "tokendraw/v1/sampling.pb.h"

namespace tokendraw::cli {

struct SampleJob {
  LogitsRows logits;
  std::vector<std::int64_t> rows;  // of `logits`, in the order of the draws
  v1::SamplingParams params;       // of all rows
  v1::RowSpec first_row;           // of all rows, save that row i has its position + i
  v1::Validation validation = v1::VALIDATION_UNSPECIFIED;
};

// Most rows of `job` that one message may hold, within the server's limits and at most 16: larger
// messages are no faster. At least 1.
std::size_t RowsPerMessage(const SampleJob& job, const v1::GetServerInfoResponse& limits);

// The message for rows[first] to rows[first + count - 1], whose logits go to `rows`.
v1::SampleTokensRequest MakeRequest(const SampleJob& job, std::size_t first, std::size_t count,
                                    std::span<std::byte> rows);

struct SampleResult {
  v1::SampleTokensResponse reply;
  Payload payload = Payload::kNone;  // how the last rows went
};

// Draws all rows, in as many messages as it takes, and puts the replies together: row numbers in it
// are indices of job.rows. The first error ends it.
absl::StatusOr<SampleResult> RunJob(const SampleJob& job, Client& client);

}  // namespace tokendraw::cli

#endif  // TOKENDRAW_CLIENT_CLI_SAMPLE_JOB_H_
