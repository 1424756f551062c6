#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "client/cli/command.h"
#include "client/cli/explain_page.h"
#include "client/cli/explain_report.h"
#include "client/cli/logits_file.h"
#include "client/cli/number.h"
#include "client/cli/param_flags.h"
#include "client/cli/param_sweep.h"
#include "client/cli/sample_report.h"
#include "client/cli/vocab.h"

namespace tokendraw::cli {
namespace {

std::vector<Flag> Flags() {
  const std::vector<Flag> own = {
      {"tensor", "NAME", "", "logits, or the only one", "Tensor of a .safetensors file."},
      {"row", "INTEGER", "[0, rows)", "0", "The row to explain."},
      {"draw", "INTEGER", "[0, 65535]", "0", "Which of the row's draws: its sample_index."},
      {"top", "INTEGER", "[1, 1000]", "20",
       "Most probable tokens to show, of the row as it came, after the edits and at the end."},
      {"vocab", "FILE", "", "none", "JSON array of token texts by id."},
      {"html", "FILE", "", "off",
       "Also writes a page that plots the stages, and what they are with a parameter moved."},
      {"json", "", "", "off", "Prints the reply as one JSON object."},
      {"lenient", "", "", "off", "Parameters outside their range act as off."}};
  return Join({ConnectionFlags(), own, RowFlags(), ParamFlags()});
}

// The value of an integer flag; `unset` without it.
absl::StatusOr<std::int32_t> Integer(const Arguments& arguments, const std::string& name,
                                     std::int32_t low, std::int64_t high, std::int32_t unset) {
  const std::optional<std::string> text = arguments.Get(name);
  if (!text) return unset;
  const absl::StatusOr<std::int32_t> value = ParseNumber<std::int32_t>(*text);
  if (value.ok() && *value >= low && *value <= high) return value;
  return absl::InvalidArgumentError(
      absl::StrCat("--", name, " must be in [", low, ", ", high, "], got \"", *text, "\""));
}

absl::StatusOr<v1::ExplainRowRequest> MakeRequest(const Arguments& arguments, std::istream& in) {
  if (arguments.positional.size() > 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("one file at a time; what is \"", arguments.positional[1], "\"?"));
  }
  v1::ExplainRowRequest request;
  const absl::StatusOr<v1::SamplingParams> params = ParamsFromFlags(arguments);
  if (!params.ok()) return params.status();
  *request.mutable_params() = *params;
  const absl::StatusOr<v1::RowSpec> spec = RowFromFlags(arguments);
  if (!spec.ok()) return spec.status();
  *request.mutable_row() = *spec;
  const absl::StatusOr<bool> lenient = Switch(arguments, "lenient");
  if (!lenient.ok()) return lenient.status();
  if (*lenient) request.set_validation(v1::VALIDATION_LENIENT);
  const absl::StatusOr<std::int32_t> draw = Integer(arguments, "draw", 0, 65535, 0);
  if (!draw.ok()) return draw.status();
  request.set_sample_index(*draw);
  const absl::StatusOr<std::int32_t> top = Integer(arguments, "top", 1, 1000, 20);
  if (!top.ok()) return top.status();
  request.set_top_tokens(*top);

  const std::string file = arguments.positional.empty() ? "-" : arguments.positional[0];
  const absl::StatusOr<LogitsRows> logits = ReadLogits(file, arguments.Get("tensor"), in);
  if (!logits.ok()) return logits.status();
  const absl::StatusOr<std::int32_t> row = Integer(arguments, "row", 0, logits->rows - 1, 0);
  if (!row.ok()) return row.status();
  const std::size_t bytes =
      static_cast<std::size_t>(logits->vocab_size) * ElementBytes(logits->type);
  const auto all = std::as_bytes(std::span(logits->data));
  SetInlineLogits(all.subspan(static_cast<std::size_t>(*row) * bytes, bytes), logits->type,
                  logits->vocab_size, 1, *request.mutable_logits());
  return request;
}

// Draws that the page can show: those of the first few, and the row's.
constexpr int kPageDraws = 8;

absl::StatusOr<std::vector<Move>> MakeMoves(v1::ExplainRowRequest request, Client& client) {
  std::vector<Move> moves;
  const auto add = [&](Move& move, double value) {
    absl::StatusOr<v1::ExplainRowResponse> reply = client.ExplainRow(request);
    if (!reply.ok()) return reply.status();
    // A row can go bad with a parameter, such as a penalty that overflows.
    if (!reply->has_row_error()) move.replies.emplace_back(value, *std::move(reply));
    return absl::OkStatus();
  };
  const v1::SamplingParams given = request.params();
  for (const ParamSweep& sweep : SweepsOf(given)) {
    Move& move = moves.emplace_back(Move{.name = sweep.name, .given = sweep.given});
    for (const double value : sweep.values) {
      *request.mutable_params() = WithValue(given, sweep.name, value);
      if (const absl::Status status = add(move, value); !status.ok()) return status;
    }
  }
  *request.mutable_params() = given;
  const std::int32_t draw = request.sample_index();
  Move& move = moves.emplace_back(Move{.name = "draw", .given = draw});
  for (std::int32_t other = 0; other < kPageDraws; ++other) {
    if (other == draw) continue;
    request.set_sample_index(other);
    if (const absl::Status status = add(move, other); !status.ok()) return status;
  }
  return moves;
}

absl::Status WriteFile(const std::string& file, const std::string& text) {
  std::ofstream out(file, std::ios::binary);
  out << text;
  out.close();
  if (out) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("--html: ", file, " cannot be written"));
}

int RunExplain(const Arguments& arguments, const Streams& streams) {
  const absl::StatusOr<bool> json = Switch(arguments, "json");
  if (!json.ok()) return FailUsage(json.status(), streams);
  const absl::StatusOr<std::unique_ptr<Client>> client = ConnectClient(arguments);
  if (!client.ok()) return FailUsage(client.status(), streams);
  absl::StatusOr<std::vector<std::string>> vocab = std::vector<std::string>();
  if (const std::optional<std::string> file = arguments.Get("vocab")) vocab = ReadVocab(*file);
  if (!vocab.ok()) return FailUsage(vocab.status(), streams);
  absl::StatusOr<v1::ExplainRowRequest> request = MakeRequest(arguments, streams.in);
  if (!request.ok()) return FailUsage(request.status(), streams);

  const absl::StatusOr<v1::ExplainRowResponse> reply = (*client)->ExplainRow(*request);
  if (!reply.ok()) return FailCall(reply.status(), streams);
  if (*json) {
    streams.out << JsonOf(*reply) << "\n";
  } else if (!reply->has_row_error()) {
    PrintExplanation(*reply, request->params(), *vocab, streams.out);
  }
  if (reply->has_row_error()) {
    const v1::RowError& error = reply->row_error();
    if (!*json) streams.out << CodeName(error.code()) << ": " << error.message() << "\n";
    return kRowErrors;
  }
  const std::optional<std::string> page = arguments.Get("html");
  if (!page) return kOk;
  request->mutable_row()->set_seed(reply->seed());  // which the server may have drawn
  const absl::StatusOr<std::vector<Move>> moves = MakeMoves(*request, **client);
  if (!moves.ok()) return FailCall(moves.status(), streams);
  const std::string file = arguments.positional.empty() ? "-" : arguments.positional[0];
  const std::string title =
      absl::StrCat(file == "-" ? "stdin" : file, ", row ", arguments.Get("row").value_or("0"));
  const absl::Status written =
      WriteFile(*page, ExplainPage(title, *reply, *moves, request->params(), *vocab));
  return written.ok() ? kOk : FailUsage(written, streams);
}

}  // namespace

const Command kExplain{
    "explain",
    "[FLAGS] [FILE]",
    "Shows what each stage did to one row of FILE (as for `sample`), and why its token was drawn:\n"
    "the one that `sample` draws with the same flags, if --position is the row's.",
    Flags,
    RunExplain,
    /*takes_file=*/true};

}  // namespace tokendraw::cli
