// From the library to the wire: the results of a batch as a response.
#ifndef TOKENDRAW_SERVICE_RESPOND_H_
#define TOKENDRAW_SERVICE_RESPOND_H_

#include <span>

#include "sampling/types.h"
#include "service/convert.h"
#include "tokendraw/v1/sampling.pb.h"

namespace tokendraw {

// Fills `response` with the results of `batch`, one for each row.
void FillResponse(const Batch& batch, std::span<const sampling::RowResult> results,
                  v1::SampleTokensResponse& response);

// The parts of it.
void FillRowError(const sampling::RowError& from, int32_t row, v1::RowError& to);
void FillState(const sampling::SamplerState& from, v1::SamplerState& to);

}  // namespace tokendraw

#endif  // TOKENDRAW_SERVICE_RESPOND_H_
