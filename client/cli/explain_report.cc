#include "client/cli/explain_report.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cli/table.h"
#include "client/cli/vocab.h"

namespace tokendraw::cli {
namespace {

using Lines = std::vector<std::vector<std::string>>;

// A bar of eighths of a column.
std::string Bar(double share) {
  constexpr int kColumns = 24;
  static const char* const kEighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const int eighths = static_cast<int>(std::lround(share * kColumns * 8));
  std::string bar;
  for (int i = 0; i < eighths / 8; ++i) bar += "█";
  return bar + kEighths[eighths % 8];
}

void PrintStages(const v1::ExplainRowResponse& reply, std::ostream& out) {
  Lines lines = {{"stage", "before", "after", "mass removed", "H before", "H after", "cut"}};
  for (const v1::ExplainedStage& stage : reply.stages()) {
    lines.push_back({StageName(stage), absl::StrCat(stage.before()), absl::StrCat(stage.after()),
                     absl::StrFormat("%.4f", stage.mass_removed()),
                     absl::StrFormat("%.3f", stage.entropy_before()),
                     absl::StrFormat("%.3f", stage.entropy_after()), CutOf(stage)});
  }
  PrintTable(lines, {true, false, false, false, false, false, true}, out);
}

std::string FateOf(const v1::ExplainedToken& token, const v1::ExplainRowResponse& reply) {
  if (token.has_removed_by()) return StageName(reply.stages(token.removed_by()));
  return token.token_id() == reply.token_id() ? "drawn" : "stays";
}

void PrintTokens(const v1::ExplainRowResponse& reply, const std::vector<std::string>& vocab,
                 std::ostream& out) {
  const bool has_text = !vocab.empty();
  Lines lines = {{"token"}};
  std::vector<bool> left = {false};
  if (has_text) lines[0].push_back("text");
  if (has_text) left.push_back(true);
  const bool is_drawn = !reply.greedy();
  for (const char* name : {"logit", "p", "", "p at end", "noise", "leaves at"}) {
    if (name != std::string("noise") || is_drawn) lines[0].push_back(name);
  }
  left.insert(left.end(), {false, false, true, false});
  if (is_drawn) left.push_back(false);
  left.push_back(true);
  double most = 0;
  for (const v1::ExplainedToken& token : reply.tokens()) {
    most = std::max(most, token.probabilities(1));
  }
  for (const v1::ExplainedToken& token : reply.tokens()) {
    const double p = token.probabilities(1);
    const double last = *token.probabilities().rbegin();
    std::vector<std::string>& line = lines.emplace_back();
    line.push_back(absl::StrCat(token.token_id()));
    if (has_text) line.push_back(TextOf(token.token_id(), vocab));
    line.push_back(
        absl::StrFormat("%.3f", token.has_edited_logit() ? token.edited_logit() : token.logit()));
    line.push_back(absl::StrFormat("%.4f", p));
    line.push_back(Bar(p / most));
    line.push_back(token.has_removed_by() ? "-" : absl::StrFormat("%.4f", last));
    if (is_drawn) line.push_back(absl::StrFormat("%.3f", token.noise()));
    line.push_back(FateOf(token, reply));
  }
  PrintTable(lines, left, out);
}

}  // namespace

std::string StageName(const v1::ExplainedStage& stage) {
  if (stage.filter() == v1::FILTER_UNSPECIFIED) return "edits";
  const std::string name = v1::Filter_Name(stage.filter());
  if (name.empty()) return absl::StrCat("filter ", static_cast<int>(stage.filter()));
  return absl::AsciiStrToLower(name.substr(sizeof("FILTER_") - 1));
}

std::string CutOf(const v1::ExplainedStage& stage) {
  if (stage.has_temperature()) return absl::StrFormat("T = %.4g", stage.temperature());
  if (!stage.has_threshold()) return "";
  if (stage.filter() == v1::FILTER_XTC) return absl::StrFormat("p >= %.4g", stage.threshold());
  if (stage.filter() == v1::FILTER_TYPICAL_P) {
    const std::string cut = absl::StrFormat("|-ln p - H| to %.4f", stage.threshold());
    return stage.has_next() ? absl::StrFormat("%s, next %.4f", cut, stage.next()) : cut;
  }
  const std::string cut = absl::StrFormat("p down to %.4g", stage.threshold());
  return stage.has_next() ? absl::StrFormat("%s, next %.4g", cut, stage.next()) : cut;
}

void PrintExplanation(const v1::ExplainRowResponse& reply, const v1::SamplingParams& params,
                      const std::vector<std::string>& vocab, std::ostream& out) {
  PrintStages(reply, out);
  if (reply.has_xtc_coin()) {
    const v1::ExplainedCoin& coin = reply.xtc_coin();
    out << absl::StrFormat("\nXTC coin: u = %.4f, xtc_probability %.4g: %s\n", coin.u(),
                           params.xtc_probability(),
                           !coin.acts()     ? "does not act"
                           : coin.applied() ? "acts"
                                            : "acts, and finds nothing to remove");
  }
  out << "\n";
  PrintTokens(reply, vocab, out);
  out << "\n" << (reply.greedy() ? "largest logit" : "drawn") << ": token " << reply.token_id();
  if (!vocab.empty()) out << " " << TextOf(reply.token_id(), vocab);
  for (const v1::ExplainedToken& token : reply.tokens()) {
    if (token.token_id() != reply.token_id() || reply.greedy()) continue;
    const double p = *token.probabilities().rbegin();
    out << absl::StrFormat(", the largest ln p + noise: %.4f = %.4f + %.4f",
                           std::log(p) + token.noise(), std::log(p), token.noise());
  }
  out << "\nseed " << reply.seed() << ", semantics version " << reply.semantics_version() << "\n";
}

}  // namespace tokendraw::cli
