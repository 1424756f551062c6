#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "client/cli/command.h"
#include "client/cli/param_flags.h"
#include "client/cli/sample_job.h"
#include "client/cli/sample_report.h"
#include "client/cli/vocab.h"

namespace tokendraw::cli {
namespace {

std::vector<Flag> Flags() {
  const std::vector<Flag> own = {
      {"tensor", "NAME", "", "logits, or the only one", "Tensor of a .safetensors file."},
      {"rows", "LIST", "such as 0,3,5-9", "all", "Rows to draw, in this order."},
      {"vocab", "FILE", "", "none",
       "JSON array of token texts by id, for the text column of the table."},
      {"json", "", "", "off",
       "Prints the reply as one JSON object, whose rows count those that were drawn, with "
       "the way that rows went, inline or shared_memory, as its payload."},
      {"lenient", "", "", "off", "Parameters outside their range act as off."}};
  return Join({ConnectionFlags(), own, RowFlags(), ParamFlags()});
}

absl::StatusOr<std::vector<std::int64_t>> ChooseRows(const Arguments& arguments,
                                                     std::int64_t rows) {
  const std::optional<std::string> list = arguments.Get("rows");
  if (!list) {
    std::vector<std::int64_t> all(static_cast<std::size_t>(rows));
    std::iota(all.begin(), all.end(), 0);
    return all;
  }
  absl::StatusOr<std::vector<std::int64_t>> chosen = ParseRowList(*list, rows);
  if (chosen.ok()) return chosen;
  return absl::InvalidArgumentError(
      absl::StrCat("--rows: ", std::string(chosen.status().message())));
}

absl::StatusOr<SampleJob> MakeJob(const Arguments& arguments, bool json, std::istream& in) {
  if (arguments.positional.size() > 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("one file at a time; what is \"", arguments.positional[1], "\"?"));
  }
  SampleJob job;
  absl::StatusOr<v1::SamplingParams> params = ParamsFromFlags(arguments);
  if (!params.ok()) return params.status();
  job.params = *std::move(params);
  // The table has a column for it.
  if (!json) job.params.mutable_logprobs();
  absl::StatusOr<v1::RowSpec> row = RowFromFlags(arguments);
  if (!row.ok()) return row.status();
  job.first_row = *std::move(row);
  const absl::StatusOr<bool> lenient = Switch(arguments, "lenient");
  if (!lenient.ok()) return lenient.status();
  if (*lenient) job.validation = v1::VALIDATION_LENIENT;

  const std::string file = arguments.positional.empty() ? "-" : arguments.positional[0];
  absl::StatusOr<LogitsRows> logits = ReadLogits(file, arguments.Get("tensor"), in);
  if (!logits.ok()) return logits.status();
  job.logits = *std::move(logits);
  absl::StatusOr<std::vector<std::int64_t>> rows = ChooseRows(arguments, job.logits.rows);
  if (!rows.ok()) return rows.status();
  job.rows = *std::move(rows);
  const auto last = static_cast<std::int64_t>(job.rows.size()) - 1;
  if (job.first_row.position() > std::numeric_limits<std::int64_t>::max() - last) {
    return absl::InvalidArgumentError("--position: the last row's is out of range");
  }
  return job;
}

int RunSample(const Arguments& arguments, const Streams& streams) {
  const absl::StatusOr<bool> json = Switch(arguments, "json");
  if (!json.ok()) return FailUsage(json.status(), streams);
  const absl::StatusOr<std::unique_ptr<Client>> client = ConnectClient(arguments);
  if (!client.ok()) return FailUsage(client.status(), streams);
  absl::StatusOr<std::vector<std::string>> vocab = std::vector<std::string>();
  if (const std::optional<std::string> file = arguments.Get("vocab")) vocab = ReadVocab(*file);
  if (!vocab.ok()) return FailUsage(vocab.status(), streams);
  const absl::StatusOr<SampleJob> job = MakeJob(arguments, *json, streams.in);
  if (!job.ok()) return FailUsage(job.status(), streams);

  const absl::StatusOr<SampleResult> result = RunJob(*job, **client);
  if (!result.ok()) return FailCall(result.status(), streams);
  if (*json) {
    auto object = nlohmann::ordered_json::parse(JsonOf(result->reply), nullptr, false);
    object["payload"] = result->payload == Payload::kSharedMemory ? "shared_memory" : "inline";
    streams.out << object.dump() << "\n";
  } else {
    PrintReport(result->reply, job->rows, *vocab, streams.out);
  }
  return result->reply.row_errors().empty() ? kOk : kRowErrors;
}

}  // namespace

const Command kSample{
    "sample",
    "[FLAGS] [FILE]",
    "Draws a token for each row of FILE: .safetensors (F32, F16, BF16), .npy ('<f4', '<f2', or "
    "'<u2'\n"
    "taken as BF16), or JSON: an array of numbers or of such arrays, where null and \"-inf\" are\n"
    "-infinity. Without FILE, or with \"-\": JSON from stdin.",
    Flags,
    RunSample,
    /*takes_file=*/true};

}  // namespace tokendraw::cli
