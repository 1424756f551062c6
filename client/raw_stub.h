// The stub of the two methods whose requests are bytes already; private to the library.
#ifndef TOKENDRAW_CLIENT_RAW_STUB_H_
#define TOKENDRAW_CLIENT_RAW_STUB_H_

#include <grpcpp/generic/generic_stub.h>

#include "tokendraw/v1/sampling.pb.h"

namespace tokendraw {

using RawStub = grpc::TemplatedGenericStub<grpc::ByteBuffer, v1::SampleTokensResponse>;

inline constexpr char kSampleTokens[] = "/tokendraw.v1.SamplingService/SampleTokens";
inline constexpr char kStreamSampleTokens[] = "/tokendraw.v1.SamplingService/StreamSampleTokens";

}  // namespace tokendraw

#endif  // TOKENDRAW_CLIENT_RAW_STUB_H_
