// What the calls that sample need: the service they belong to and where their work goes.
#ifndef TOKENDRAW_SERVICE_HOT_CALLS_H_
#define TOKENDRAW_SERVICE_HOT_CALLS_H_

#include <cstddef>

#include "service/active_calls.h"
#include "service/answered.h"
#include "service/call_queue.h"
#include "service/dispatcher.h"
#include "service/token_file.h"
#include "tokendraw/v1/sampling.grpc.pb.h"

namespace tokendraw {

// The two calls that move rows are taken as bytes, from completion queues; the others are plain.
using HotCallService = v1::SamplingService::WithRawMethod_SampleTokens<
    v1::SamplingService::WithRawMethod_StreamSampleTokens<v1::SamplingService::Service>>;

// All of it must outlive the calls.
struct HotCalls {
  HotCallService& service;
  Dispatcher& dispatcher;
  ActiveCalls& calls;
  CallQueue& queue;
  Answered& answered;
  TokenFile* token_file;  // null: nobody needs a token
  size_t max_in_flight;
};

// Serialises a reply.
grpc::ByteBuffer ToBytes(const v1::SampleTokensResponse& response);

}  // namespace tokendraw

#endif  // TOKENDRAW_SERVICE_HOT_CALLS_H_
