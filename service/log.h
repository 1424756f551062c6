// What the server says, a line at a time: for people, or as JSON for whoever collects it. Logits,
// histories and whatever else a caller sends never come into it.
#ifndef TOKENDRAW_SERVICE_LOG_H_
#define TOKENDRAW_SERVICE_LOG_H_

#include <cstdint>
#include <cstdio>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "service/options.h"
#include "service/trace.h"

namespace tokendraw {

struct LogField {
  LogField(const char* field, std::string value) : name(field), text(std::move(value)) {}
  LogField(const char* field, int64_t value)
      : name(field), text(std::to_string(value)), is_number(true) {}
  LogField(const char* field, double value)
      : name(field), text(absl::StrCat(value)), is_number(true) {}

  const char* name;
  std::string text;
  bool is_number = false;
};

// One call, or one message of a stream, that was answered.
struct LoggedRequest {
  const char* rpc;
  int64_t step = 0;
  int64_t rows = 0;
  int64_t bytes = 0;
  absl::Duration duration;
};

// Thread-safe. A line is one write.
class Log {
 public:
  // To `file`, which must outlive the log.
  Log(const Options& options, std::FILE* file);

  void Info(const std::string& message, const std::vector<LogField>& fields = {});
  void Warning(const std::string& message, const std::vector<LogField>& fields = {});

  // Whether a request that ended with `status` is logged: for whoever has to find out more first.
  bool Wants(const absl::Status& status) const;
  // At most kRequestsPerSecond of them: the next line says how many were left out. Of
  // INVALID_ARGUMENT it has the names of the fields that are wrong and not their values.
  void Request(const LoggedRequest& request, const absl::Status& status, const TraceContext& trace);

 private:
  static constexpr int64_t kRequestsPerSecond = 100;

  enum class Requests { kNone, kFailed, kAll };

  void Write(const char* level, const std::string& message, const std::vector<LogField>& fields);
  // How many lines were left out before this one; -1 if this is one of them.
  int64_t Admit();

  const bool json_;
  const Requests requests_;
  std::FILE* const file_;
  std::mutex mutex_;  // guards what stands below
  absl::Time second_ = absl::InfinitePast();
  int64_t in_second_ = 0;
  int64_t left_out_ = 0;
};

}  // namespace tokendraw

#endif  // TOKENDRAW_SERVICE_LOG_H_
