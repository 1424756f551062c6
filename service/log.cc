#include "service/log.h"

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "service/status.h"

namespace tokendraw {
namespace {

std::string TimeText(absl::Time time) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", time, absl::UTCTimeZone());
}

std::string JsonLine(const char* level, const std::string& message,
                     const std::vector<LogField>& fields) {
  nlohmann::ordered_json line = {
      {"time", TimeText(absl::Now())}, {"level", level}, {"message", message}};
  for (const LogField& field : fields) {
    line[field.name] = field.is_number ? nlohmann::ordered_json::parse(field.text)
                                       : nlohmann::ordered_json(field.text);
  }
  return line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// Control characters would let a caller write lines of its own.
std::string Printable(const std::string& text) {
  std::string printable = text;
  for (char& c : printable) {
    if (static_cast<unsigned char>(c) < ' ' || c == 127) c = ' ';
  }
  return printable;
}

// message (name=value name=value)
std::string TextLine(const std::string& message, const std::vector<LogField>& fields) {
  std::string line = absl::StrCat("tokendrawd: ", message);
  for (size_t i = 0; i < fields.size(); ++i) {
    absl::StrAppend(&line, i == 0 ? " (" : " ", fields[i].name, "=", fields[i].text);
  }
  return fields.empty() ? line : absl::StrCat(line, ")");
}

}  // namespace

Log::Log(const Options& options, std::FILE* file)
    : json_(options.log_format == "json"),
      requests_(options.log_requests == "none"     ? Requests::kNone
                : options.log_requests == "failed" ? Requests::kFailed
                                                   : Requests::kAll),
      file_(file) {}

void Log::Info(const std::string& message, const std::vector<LogField>& fields) {
  Write("info", message, fields);
}

void Log::Warning(const std::string& message, const std::vector<LogField>& fields) {
  Write("warning", message, fields);
}

void Log::Write(const char* level, const std::string& message,
                const std::vector<LogField>& fields) {
  const std::string line =
      (json_ ? JsonLine(level, message, fields) : Printable(TextLine(message, fields))) + "\n";
  const std::lock_guard lock(mutex_);
  std::fwrite(line.data(), 1, line.size(), file_);
  std::fflush(file_);
}

bool Log::Wants(const absl::Status& status) const {
  return requests_ == Requests::kAll || (requests_ == Requests::kFailed && !status.ok());
}

int64_t Log::Admit() {
  const std::lock_guard lock(mutex_);
  const absl::Time now = absl::Now();
  if (now - second_ >= absl::Seconds(1)) {
    second_ = now;
    in_second_ = 0;
  }
  if (++in_second_ > kRequestsPerSecond) {
    ++left_out_;
    return -1;
  }
  return std::exchange(left_out_, 0);
}

void Log::Request(const LoggedRequest& request, const absl::Status& status,
                  const TraceContext& trace) {
  if (!Wants(status)) return;
  const int64_t left_out = Admit();
  if (left_out < 0) return;
  std::vector<LogField> fields = {
      {"rpc", request.rpc},     {"code", absl::StatusCodeToString(status.code())},
      {"step", request.step},   {"rows", request.rows},
      {"bytes", request.bytes}, {"ms", absl::ToDoubleMilliseconds(request.duration)}};
  const std::string wrong = WrongFields(status);
  if (!wrong.empty()) {
    fields.push_back({"fields", wrong});
  } else if (!status.ok()) {
    fields.push_back({"error", std::string(status.message())});
  }
  if (!trace.trace_id.empty()) {
    fields.push_back({"trace_id", trace.trace_id});
    fields.push_back({"parent_id", trace.parent_id});
  }
  if (left_out > 0) fields.push_back({"left_out", left_out});
  Write(status.ok() ? "info" : "warning", "request", fields);
}

}  // namespace tokendraw
