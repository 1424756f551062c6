// From the wire to the library: checks a request and turns it into rows to sample.
#ifndef TOKENDRAW_SERVICE_CONVERT_H_
#define TOKENDRAW_SERVICE_CONVERT_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "sampling/params.h"
#include "sampling/types.h"
#include "service/received_request.h"
#include "service/shared_memory.h"
#include "service/status.h"
#include "service/tensor.h"
#include "tokendraw/v1/sampling.pb.h"

namespace tokendraw {

// What a message may hold at most.
struct MessageLimits {
  int64_t max_rows = 0;
  int64_t max_draws = 0;
  int64_t max_shared_bytes = 0;  // of a tensor in shared memory
};

struct BatchRow {
  int32_t params_index = 0;
  sampling::RowInput input;  // its logits, unless it has candidates, are in Batch::tensor
};

// A checked request. Views point into the request, which must outlive it.
struct Batch {
  int32_t vocab_size = 0;
  std::vector<sampling::Params> params;
  std::vector<BatchRow> rows;
  std::vector<std::vector<sampling::TokenCount>> token_counts;  // what rows' histories view
  sampling::DataType data_type = sampling::DataType::kF32;
  Tensor tensor;
};

// Checks everything that sampling relies on. INVALID_ARGUMENT lists all violations,
// RESOURCE_EXHAUSTED names the limit, UNIMPLEMENTED the payload. Draws a seed for each row that
// brings none. `shared_memory` is null if the server takes none.
absl::StatusOr<Batch> ConvertRequest(const ReceivedRequest& request, const MessageLimits& limits,
                                     SharedMemory* shared_memory);

// The parts of ConvertRequest. Each adds what is wrong to `violations`.

// Whether a payload of `logits` is in shared memory.
bool UsesSharedMemory(const v1::LogitsTensor& logits);

// Whether the shape is positive, so that one may multiply with it.
bool CheckShape(const v1::LogitsTensor& logits, Violations& violations);

// Fills batch.tensor and data_type. The shape has passed CheckShape. Returns how many bytes lie in
// shared memory.
int64_t ConvertTensor(const ReceivedRequest& request, SharedMemory* shared_memory, Batch& batch,
                      Violations& violations);

// Fills the candidates of all rows of `batch`.
void ConvertCandidates(const v1::LogitsTensor& logits, Batch& batch, Violations& violations);

// Fills the rest of one row of `batch`.
void ConvertRow(const v1::RowSpec& spec, const std::string& path, Batch& batch, BatchRow& row,
                Violations& violations);

// Fills `params` from `proto`; adds what is wrong with it to `violations`, under `path`. Token ids
// must be in [0, vocab_size). With lenient validation a value outside its range acts as "off".
void ConvertParams(const v1::SamplingParams& proto, const std::string& path,
                   v1::Validation validation, int32_t vocab_size, sampling::Params& params,
                   Violations& violations);

// Adds a violation for each field, at any depth of `message`, that this version does not know.
void FindUnknownFields(const google::protobuf::Message& message, const std::string& path,
                       Violations& violations);

// Adds a violation if `value` is not a Validation.
void CheckValidation(v1::Validation value, Violations& violations);

}  // namespace tokendraw

#endif  // TOKENDRAW_SERVICE_CONVERT_H_
