// Requests that tests of the service send.
#ifndef TOKENDRAW_TESTS_SERVICE_REQUESTS_H_
#define TOKENDRAW_TESTS_SERVICE_REQUESTS_H_

#include <cstddef>
#include <initializer_list>
#include <string>
#include <vector>

#include "service/convert.h"
#include "service/received_request.h"
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

// Bytes as gRPC would hand them over, in slices of `slice_size`.
inline grpc::ByteBuffer Sliced(const std::string& bytes, size_t slice_size) {
  std::vector<grpc::Slice> slices;
  for (size_t at = 0; at < bytes.size(); at += slice_size) {
    slices.emplace_back(bytes.data() + at, std::min(slice_size, bytes.size() - at));
  }
  return {slices.data(), slices.size()};
}

// The message so.
inline grpc::ByteBuffer Serialised(const v1::SampleTokensRequest& request,
                                   size_t slice_size = 8192) {
  return Sliced(request.SerializeAsString(), slice_size);
}

// The whole message: with what is inline in its place.
inline v1::SampleTokensRequest WithInline(const ReceivedRequest& received) {
  const auto joined = [](const Fragments& fragments) {
    std::string bytes;
    for (const auto& part : fragments) {
      bytes.append(reinterpret_cast<const char*>(part.data()), part.size());
    }
    return bytes;
  };
  v1::SampleTokensRequest request = received.message();
  if (request.logits().has_inline_()) {
    request.mutable_logits()->set_inline_(joined(received.InlineBytes()));
  }
  for (int i = 0; i < request.logits().shards().shards_size(); ++i) {
    v1::VocabularyShard& shard = *request.mutable_logits()->mutable_shards()->mutable_shards(i);
    if (shard.has_inline_()) shard.set_inline_(joined(received.InlineBytes(i)));
  }
  return request;
}

// Receives the message and checks it.
inline absl::Status Convert(const v1::SampleTokensRequest& request) {
  ReceivedRequest received;
  if (absl::Status read = received.Read(Serialised(request)); !read.ok()) return read;
  return ConvertRequest(received, kLimits, nullptr).status();
}

}  // namespace tokendraw

#endif  // TOKENDRAW_TESTS_SERVICE_REQUESTS_H_
