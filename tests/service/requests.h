// Requests that tests of the service send.
#ifndef TOKENDRAW_TESTS_SERVICE_REQUESTS_H_
#define TOKENDRAW_TESTS_SERVICE_REQUESTS_H_

#include <initializer_list>
#include <vector>

#include "service/convert.h"
#include "tokendraw/v1/sampling.pb.h"

namespace tokendraw {

inline constexpr MessageLimits kLimits = {.max_rows = 64, .max_draws = 1000};

// One row for each list, as packed floats, with default parameters.
inline v1::SampleTokensRequest ValuesRequest(std::initializer_list<std::vector<float>> rows) {
  v1::SampleTokensRequest request;
  v1::LogitsTensor& logits = *request.mutable_logits();
  logits.set_vocab_size(static_cast<int32_t>(rows.begin()->size()));
  logits.set_row_count(static_cast<int32_t>(rows.size()));
  for (const std::vector<float>& row : rows) {
    logits.mutable_values()->mutable_values()->Add(row.begin(), row.end());
  }
  return request;
}

}  // namespace tokendraw

#endif  // TOKENDRAW_TESTS_SERVICE_REQUESTS_H_
