// Prints the table of golden tokens, or checks that this machine computes the one in a file, with
// every instruction set that it has.
// Usage: golden_tokens [--target NAME] [--check FILE]
#include <hwy/targets.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "sampling/sampler.h"
#include "sampling/types.h"
#include "tests/golden/golden.h"
#include "tests/golden/rows.h"

namespace tokendraw::golden {
namespace {

constexpr char kHeader[] =
    "# Golden tokens of semantics version %s. A change of any line is a change of the tokens that\n"
    "# users get: it needs a new kSemanticsVersion (sampling/types.h). Made anew with\n"
    "#   build/release/tests/golden_tokens > tests/golden/tokens.txt\n"
    "# row V | parameters | seed position | token ids | kept counts | hash of the kept ids\n";

// The instruction sets that the kernels were compiled for and this machine has, best first.
std::vector<int64_t> Targets(std::string_view only) {
  std::vector<int64_t> targets;
  for (int64_t rest = hwy::SupportedTargets(); rest != 0; rest &= rest - 1) {
    const int64_t target = rest & -rest;
    hwy::SetSupportedTargetsForTest(target);
    const std::string_view name = hwy::TargetName(target);
    if (name == sampling::SimdTarget() && (only.empty() || only == name)) targets.push_back(target);
  }
  if (targets.empty()) Fail("no such target here", only);
  return targets;
}

struct Table {
  size_t header_size = 0;
  std::vector<std::string> lines;
};

Table ReadTable(const std::string& path) {
  std::ifstream file(path);
  if (!file) Fail("cannot read", path);
  Table table;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) {
      ++table.header_size;
    } else {
      table.lines.push_back(line);
    }
  }
  return table;
}

// The lines as one target computes them.
std::vector<std::string> LinesOf(int64_t target) {
  hwy::SetSupportedTargetsForTest(target);
  return Lines();
}

bool Check(int64_t target, const Table& table) {
  const std::vector<std::string>& expected = table.lines;
  const std::vector<std::string> lines = LinesOf(target);
  const std::string end = "(end)";
  for (size_t i = 0; i < std::max(lines.size(), expected.size()); ++i) {
    const std::string& want = i < expected.size() ? expected[i] : end;
    const std::string& have = i < lines.size() ? lines[i] : end;
    if (want == have) continue;
    std::printf("%s: line %zu differs\n  table: %s\n  here:  %s\n", sampling::SimdTarget(),
                table.header_size + i + 1, want.c_str(), have.c_str());
    return false;
  }
  std::printf("%s: %zu lines as in the table\n", sampling::SimdTarget(), lines.size());
  return true;
}

int Main(const std::vector<std::string>& args) {
  std::string only, path;
  for (size_t i = 0; i < args.size(); i += 2) {
    if (i + 1 == args.size()) Fail("no value", args[i]);
    if (args[i] == "--target") {
      only = args[i + 1];
    } else if (args[i] == "--check") {
      path = args[i + 1];
    } else {
      Fail("no such flag", args[i]);
    }
  }
  const std::vector<int64_t> targets = Targets(only);
  if (path.empty()) {
    std::printf(kHeader, sampling::kSemanticsVersion);
    for (const std::string& line : LinesOf(targets.front())) std::printf("%s\n", line.c_str());
    return 0;
  }
  const Table table = ReadTable(path);
  bool same = true;
  for (const int64_t target : targets) same = Check(target, table) && same;
  return same ? 0 : 1;
}

}  // namespace
}  // namespace tokendraw::golden

int main(int argc, char** argv) { return tokendraw::golden::Main({argv + 1, argv + argc}); }
