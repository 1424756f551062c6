// The trace that a call belongs to: W3C Trace Context, level 1.
#ifndef TOKENDRAW_SERVICE_TRACE_H_
#define TOKENDRAW_SERVICE_TRACE_H_

#include <grpcpp/server_context.h>

#include <string>
#include <string_view>

namespace tokendraw {

struct TraceContext {
  std::string trace_id;   // 32 hexadecimal digits; empty: the caller sent none
  std::string parent_id;  // 16 hexadecimal digits: the caller's span
};

// Of a `traceparent`, such as 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01. Nothing that
// is malformed, or all zero, comes through.
TraceContext ParseTraceparent(std::string_view header);

// Of the call's metadata.
TraceContext TraceOf(const grpc::ServerContextBase& context);

}  // namespace tokendraw

#endif  // TOKENDRAW_SERVICE_TRACE_H_
