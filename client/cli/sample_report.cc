#include "client/cli/sample_report.h"

#include <algorithm>
#include <functional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/cli/table.h"
#include "client/cli/vocab.h"

namespace tokendraw::cli {
namespace {

using v1::RowDetail;
using Logprobs = google::protobuf::RepeatedPtrField<v1::TokenLogprob>;

struct Column {
  const char* name;
  bool left;
  bool shown;
  std::function<std::string(const RowDetail&)> cell;
};

std::string ListLogprobs(const Logprobs& logprobs, const std::vector<std::string>& vocab) {
  return absl::StrJoin(logprobs, " ", [&](std::string* out, const v1::TokenLogprob& entry) {
    absl::StrAppendFormat(out, "%d%s:%.4f", entry.token_id(), TextOf(entry.token_id(), vocab),
                          entry.logprob());
  });
}

}  // namespace

std::string CodeName(v1::RowErrorCode code) {
  const std::string name = v1::RowErrorCode_Name(code);
  return name.empty() ? absl::StrCat("code ", static_cast<int>(code))
                      : name.substr(sizeof("ROW_ERROR_CODE_") - 1);
}

void PrintReport(const v1::SampleTokensResponse& reply, const std::vector<std::int64_t>& rows,
                 const std::vector<std::string>& vocab, std::ostream& out) {
  const auto any = [&](const auto& has) {
    return std::any_of(reply.details().begin(), reply.details().end(), has);
  };
  const Column columns[] = {
      {"row", false, true, [&](const RowDetail& d) { return absl::StrCat(rows[d.row()]); }},
      {"draw", false, any([](const RowDetail& d) { return d.sample_index() > 0; }),
       [](const RowDetail& d) { return absl::StrCat(d.sample_index()); }},
      {"token", false, true, [](const RowDetail& d) { return absl::StrCat(d.token_id()); }},
      {"text", true, !vocab.empty(),
       [&](const RowDetail& d) { return TextOf(d.token_id(), vocab); }},
      {"logprob", false, true,
       [](const RowDetail& d) { return absl::StrFormat("%.4f", d.logprob()); }},
      {"kept", false, true, [](const RowDetail& d) { return absl::StrCat(d.kept_count()); }},
      {"xtc", true, true, [](const RowDetail& d) { return d.xtc_applied() ? "yes" : "no"; }},
      {"greedy", true, any([](const RowDetail& d) { return d.greedy(); }),
       [](const RowDetail& d) { return d.greedy() ? "yes" : "no"; }},
      {"top", true, any([](const RowDetail& d) { return !d.top_logprobs().empty(); }),
       [&](const RowDetail& d) { return ListLogprobs(d.top_logprobs(), vocab); }},
      {"requested", true, any([](const RowDetail& d) { return !d.requested_logprobs().empty(); }),
       [&](const RowDetail& d) { return ListLogprobs(d.requested_logprobs(), vocab); }},
      {"kept_ids", true, any([](const RowDetail& d) { return !d.kept_ids().empty(); }),
       [](const RowDetail& d) { return absl::StrJoin(d.kept_ids(), ","); }},
  };
  std::vector<std::vector<std::string>> lines(1);
  std::vector<bool> left;
  for (const Column& column : columns) {
    if (!column.shown) continue;
    lines[0].push_back(column.name);
    left.push_back(column.left);
  }
  for (const RowDetail& detail : reply.details()) {
    std::vector<std::string>& line = lines.emplace_back();
    for (const Column& column : columns) {
      if (column.shown) line.push_back(column.cell(detail));
    }
  }
  PrintTable(lines, left, out);
  for (const v1::RowError& error : reply.row_errors()) {
    out << "row " << rows[error.row()] << ": " << CodeName(error.code()) << ": " << error.message()
        << "\n";
  }
}

}  // namespace tokendraw::cli
