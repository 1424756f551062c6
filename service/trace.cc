#include "service/trace.h"

#include <algorithm>

namespace tokendraw {
namespace {

constexpr size_t kVersion = 2, kTraceId = 32, kParentId = 16, kFlags = 2;
constexpr size_t kLength = kVersion + 1 + kTraceId + 1 + kParentId + 1 + kFlags;

bool IsHex(std::string_view text) {
  return std::ranges::all_of(
      text, [](char c) { return ('0' <= c && c <= '9') || ('a' <= c && c <= 'f'); });
}

bool IsZero(std::string_view text) { return text.find_first_not_of('0') == std::string_view::npos; }

}  // namespace

TraceContext ParseTraceparent(std::string_view header) {
  if (header.size() < kLength || header[2] != '-' || header[35] != '-' || header[52] != '-') {
    return {};
  }
  const std::string_view version = header.substr(0, kVersion);
  const std::string_view trace_id = header.substr(3, kTraceId);
  const std::string_view parent_id = header.substr(36, kParentId);
  if (!IsHex(version) || !IsHex(trace_id) || !IsHex(parent_id)) return {};
  if (!IsHex(header.substr(53, kFlags))) return {};
  // Later versions may go on after a dash; ff is none.
  const bool goes_on = header.size() > kLength;
  if (version == "ff" || (goes_on && (version == "00" || header[kLength] != '-'))) return {};
  if (IsZero(trace_id) || IsZero(parent_id)) return {};
  return {std::string(trace_id), std::string(parent_id)};
}

TraceContext TraceOf(const grpc::ServerContextBase& context) {
  const auto& metadata = context.client_metadata();
  const auto found = metadata.find("traceparent");
  if (found == metadata.end()) return {};
  return ParseTraceparent({found->second.data(), found->second.size()});
}

}  // namespace tokendraw
