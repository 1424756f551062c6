#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <limits>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cli/command.h"
#include "client/cli/load_run.h"
#include "client/cli/number.h"
#include "client/cli/param_flags.h"

namespace tokendraw::cli {
namespace {

std::vector<Flag> Flags() {
  const std::vector<Flag> own = {
      {"workers", "INTEGER", "[1, 1024]", "1", "Threads, each with a stream of its own."},
      {"rows", "INTEGER", "[1, 65536]", "1", "Rows of each step."},
      {"vocab_size", "INTEGER", "[1, 16777216]", "151936", "Logits of each row, F32."},
      {"candidates", "INTEGER", "[0, 65536]", "0: whole rows",
       "Sends so many of the largest logits of each row instead."},
      {"rate", "NUMBER", "[0, 1000000]", "0: as fast as answered",
       "Steps a second of each worker."},
      {"duration_s", "NUMBER", "(0, 86400]", "10", "How long."},
      {"steps", "INTEGER", "[0, 2^62]", "0: by the time", "Steps of each worker, instead."},
      {"load_seed", "INTEGER", "[0, 2^63)", "0", "Of the rows and of their draws."},
      {"json", "", "", "off", "Prints the result as one JSON object."}};
  return Join({ConnectionFlags(), own, ParamFlags()});
}

// The value of a number's flag, checked.
template <typename T>
absl::Status Read(const Arguments& arguments, const char* name, T low, T high, T& value) {
  const std::optional<std::string> text = arguments.Get(name);
  if (!text) return absl::OkStatus();
  const absl::StatusOr<T> number = ParseNumber<T>(*text);
  if (number.ok() && *number >= low && *number <= high) {
    value = *number;
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("--", name, " must be in [", low, ", ", high, "], got \"", *text, "\""));
}

absl::StatusOr<LoadPlan> MakePlan(const Arguments& arguments) {
  LoadPlan plan{.vocab_size = 151936};
  std::int64_t seed = 0;
  double duration_s = 10;
  absl::Status status = Read(arguments, "workers", 1, 1024, plan.workers);
  status.Update(Read(arguments, "rows", 1, 65536, plan.rows));
  status.Update(Read(arguments, "vocab_size", 1, 1 << 24, plan.vocab_size));
  status.Update(Read(arguments, "candidates", 0, 65536, plan.candidates));
  status.Update(Read(arguments, "rate", 0.0, 1e6, plan.rate));
  status.Update(Read(arguments, "duration_s", 0.001, 86400.0, duration_s));
  status.Update(Read(arguments, "steps", std::int64_t{0}, std::int64_t{1} << 62, plan.steps));
  status.Update(Read(arguments, "load_seed", std::int64_t{0},
                     std::numeric_limits<std::int64_t>::max(), seed));
  if (!status.ok()) return status;
  plan.seed = static_cast<std::uint64_t>(seed);
  plan.duration = std::chrono::milliseconds(static_cast<std::int64_t>(duration_s * 1000));
  const absl::StatusOr<v1::SamplingParams> params = ParamsFromFlags(arguments);
  if (!params.ok()) return params.status();
  plan.params = *params;
  return plan;
}

double Milliseconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

double Seconds(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// One line, over the one before.
std::string Progress(const LoadPlan& plan, const LoadResult& result, double seconds) {
  constexpr int kColumns = 24;
  const double all = plan.steps > 0 ? static_cast<double>(plan.steps) * plan.workers
                                    : static_cast<double>(plan.duration.count()) / 1000;
  const double done =
      plan.steps > 0 ? static_cast<double>(result.steps() + result.fault_count()) : seconds;
  const double share = std::min(done / all, 1.0);
  std::string bar;
  for (int i = 0; i < kColumns; ++i) bar += i < share * kColumns ? "█" : "░";
  return absl::StrFormat("\r%s %3.0f%%  %.0f rows/s  p50 %.2f ms  p99 %.2f ms  failed %d ", bar,
                         100 * share, static_cast<double>(result.rows()) / seconds,
                         Milliseconds(result.Percentile(0.5)),
                         Milliseconds(result.Percentile(0.99)), result.fault_count());
}

nlohmann::ordered_json ToJson(const LoadPlan& plan, const LoadResult& result, double seconds) {
  nlohmann::ordered_json json = {{"workers", plan.workers},
                                 {"rows_per_step", plan.rows},
                                 {"vocab_size", plan.vocab_size},
                                 {"candidates", plan.candidates},
                                 {"seconds", seconds},
                                 {"steps", result.steps()},
                                 {"rows", result.rows()},
                                 {"rows_per_second", static_cast<double>(result.rows()) / seconds},
                                 {"failed", result.fault_count()},
                                 {"faults", result.faults()},
                                 {"tokens_hash", absl::StrFormat("%016x", result.tokens())}};
  for (const auto& [name, share] :
       {std::pair("p50_ms", 0.5), {"p90_ms", 0.9}, {"p99_ms", 0.99}, {"max_ms", 1.0}}) {
    json[name] = Milliseconds(result.Percentile(share));
  }
  return json;
}

int RunLoadCommand(const Arguments& arguments, const Streams& streams) {
  const absl::StatusOr<bool> json = Switch(arguments, "json");
  if (!json.ok()) return FailUsage(json.status(), streams);
  const absl::StatusOr<std::unique_ptr<Client>> client = ConnectClient(arguments);
  if (!client.ok()) return FailUsage(client.status(), streams);
  const absl::StatusOr<LoadPlan> plan = MakePlan(arguments);
  if (!plan.ok()) return FailUsage(plan.status(), streams);

  LoadResult result;
  const auto start = std::chrono::steady_clock::now();
  std::future<absl::Status> run =
      std::async(std::launch::async, [&] { return RunLoad(*plan, **client, result); });
  const bool is_watched = isatty(STDERR_FILENO) != 0;
  while (run.wait_for(std::chrono::milliseconds(250)) != std::future_status::ready) {
    if (is_watched) streams.err << Progress(*plan, result, Seconds(start)) << std::flush;
  }
  const double seconds = Seconds(start);
  if (is_watched) streams.err << Progress(*plan, result, seconds) << "\n";
  const absl::Status status = run.get();
  if (!status.ok()) return FailCall(status, streams);
  const nlohmann::ordered_json report = ToJson(*plan, result, seconds);
  if (*json) {
    streams.out << report.dump() << "\n";
  } else {
    for (const auto& [name, value] : report.items()) {
      streams.out << name << "  " << (value.is_string() ? value.get<std::string>() : value.dump())
                  << "\n";
    }
  }
  return result.fault_count() == 0 ? kOk : kFailed;
}

}  // namespace

const Command kLoad{
    "load", "[FLAGS]",
    "Puts load on servers: workers that decode made-up rows, as streams. Fails if a\n"
    "step failed, retries included. Runs with the same --steps, --workers, rows and\n"
    "parameters have the same tokens_hash, whatever happened to the servers.",
    Flags, RunLoadCommand};

}  // namespace tokendraw::cli
