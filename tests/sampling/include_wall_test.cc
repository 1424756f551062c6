// Which file may include what. An arrow that is not listed here fails.
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tokendraw {
namespace {

constexpr char kUnreadable[] = "a macro";

// By part of sampling/ ("filters" is filters.h and all of filters/), the parts that it may include
// beside itself.
const std::map<std::string, std::set<std::string>>& Arrows() {
  static const std::map<std::string, std::set<std::string>> kArrows = {
      {"types", {}},
      {"params", {}},
      {"rules", {}},
      {"profile", {"params", "rules"}},
      {"row_bytes", {"types"}},
      {"kernels", {"row_bytes", "types"}},
      {"noise", {"kernels", "types"}},
      {"row", {"kernels", "types"}},
      {"selection", {"kernels"}},
      {"patches", {"kernels", "types"}},
      {"candidates", {"kernels", "patches", "types"}},
      {"support", {"candidates", "kernels", "row", "rules", "selection"}},
      {"filters", {"support", "kernels", "rules"}},
      {"edits", {"kernels", "params", "patches", "profile", "rules", "types"}},
      {"state", {"kernels", "params", "types"}},
      {"chain",
       {"candidates", "filters", "edits", "params", "patches", "profile", "row", "state", "support",
        "types"}},
      {"draw", {"kernels", "noise", "params", "profile", "support", "types"}},
      {"report", {"kernels", "params", "support", "types"}},
      {"outcome", {"chain", "draw", "kernels", "params", "profile", "state", "support", "types"}},
      {"explain",
       {"chain", "draw", "kernels", "noise", "outcome", "params", "row", "support", "types"}},
      {"sampler",
       {"candidates", "params", "chain", "draw", "outcome", "report", "row", "support", "types"}},
  };
  return kArrows;
}

bool StartsWith(const std::string& text, const std::string& beginning) {
  return text.rfind(beginning, 0) == 0;
}

// "sampling/filters/min_p.cc" and "sampling/filters.h" are of part "filters".
std::string PartOf(const std::string& path) {
  const std::string name = path.substr(std::string("sampling/").size());
  return name.substr(0, name.find_first_of("/.-"));
}

// A name without directory or extension, such as <vector>.
bool IsStandard(const std::string& header) {
  return header.find_first_of("./") == std::string::npos;
}

bool SamplingMayInclude(const std::string& file, const std::string& header) {
  const std::string part = PartOf(file);
  if (Arrows().count(part) == 0) return false;  // a new part needs a line above
  if (IsStandard(header) || StartsWith(header, "absl/")) return true;
  if (StartsWith(header, "Random123/")) return file == "sampling/noise.cc";
  if (StartsWith(header, "hwy/")) return StartsWith(file, "sampling/kernels/");
  if (!StartsWith(header, "sampling/")) return false;
  if (StartsWith(header, "sampling/kernels/")) return StartsWith(file, "sampling/kernels/");
  const std::string other = PartOf(header);
  if (other == part) return !StartsWith(header, "sampling/" + part + "/");
  return Arrows().at(part).count(other) > 0;
}

bool MayInclude(const std::string& file, const std::string& header) {
  if (header == kUnreadable) return false;
  if (StartsWith(file, "sampling/")) return SamplingMayInclude(file, header);
  if (StartsWith(header, "tests/") || StartsWith(header, "Random123/") ||
      StartsWith(header, "hwy/")) {
    return false;
  }
  if (StartsWith(file, "client/")) {
    return !StartsWith(header, "sampling/") && !StartsWith(header, "service/");
  }
  if (StartsWith(file, "service/")) {
    static const std::set<std::string> kOpen = {"sampling/explain.h", "sampling/params.h",
                                                "sampling/profile.h", "sampling/sampler.h",
                                                "sampling/types.h"};
    if (StartsWith(header, "sampling/")) return kOpen.count(header) > 0;
    return !StartsWith(header, "client/");
  }
  return false;
}

// Names of the headers that `text` includes.
std::vector<std::string> Includes(const std::string& text) {
  std::vector<std::string> headers;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::string squeezed;
    for (const char c : line) {
      if (c != ' ' && c != '\t') squeezed += c;
    }
    if (!StartsWith(squeezed, "#include")) continue;
    const size_t open = squeezed.find_first_of("<\"");
    const size_t close = squeezed.find_first_of(">\"", open + 1);
    headers.push_back(open == std::string::npos ? kUnreadable
                                                : squeezed.substr(open + 1, close - open - 1));
  }
  return headers;
}

std::vector<std::string> BadArrows(const std::string& file, const std::string& text) {
  std::vector<std::string> bad;
  for (const std::string& header : Includes(text)) {
    if (!MayInclude(file, header)) bad.push_back(file + " -> " + header);
  }
  return bad;
}

// The bad arrows of the C++ files below `directory` of the source tree.
std::vector<std::string> BadArrowsBelow(const std::string& directory, int& files) {
  const std::filesystem::path root = TOKENDRAW_SOURCE_DIR;
  std::vector<std::string> bad;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root / directory)) {
    const std::string extension = entry.path().extension().string();
    if (extension != ".h" && extension != ".cc") continue;
    ++files;
    std::ostringstream text;
    text << std::ifstream(entry.path()).rdbuf();
    const std::string name = entry.path().lexically_relative(root).generic_string();
    for (const std::string& arrow : BadArrows(name, text.str())) bad.push_back(arrow);
  }
  return bad;
}

TEST(IncludeWallTest, SamplingLooksOnlyDownward) {
  int files = 0;
  EXPECT_THAT(BadArrowsBelow("sampling", files), testing::IsEmpty());
  EXPECT_GE(files, 30);
}

TEST(IncludeWallTest, ServiceSeesThreeHeadersOfSampling) {
  int files = 0;
  EXPECT_THAT(BadArrowsBelow("service", files), testing::IsEmpty());
}

TEST(IncludeWallTest, ClientSeesTheProtoAlone) {
  int files = 0;
  EXPECT_THAT(BadArrowsBelow("client", files), testing::IsEmpty());
}

struct Line {
  const char* file;
  const char* text;
};

TEST(IncludeWallTest, BadLinesAreFound) {
  for (const Line& line : {
           Line{"client/client.cc", "#include \"sampling/params.h\""},
           {"client/client.cc", "#include \"service/options.h\""},
           {"client/client.cc", "  #  include <sampling/types.h>"},
           {"service/convert.cc", "#include \"sampling/support.h\""},
           {"service/convert.cc", "#include \"sampling/filters.h\""},
           {"service/server.cc", "#include \"client/client.h\""},
           {"service/server.cc", "#include \"tests/sampling/testing.h\""},
           {"service/server.cc", "#include <Random123/philox.h>"},
           {"sampling/sampler.cc", "#include \"service/server.h\""},
           {"sampling/sampler.cc", "#include \"tokendraw/v1/params.pb.h\""},
           {"sampling/sampler.cc", "#include <grpcpp/grpcpp.h>"},
           {"sampling/sampler.cc", "#include <google/protobuf/message.h>"},
           {"sampling/sampler.cc", "#include \"sampling/filters.h\""},
           {"sampling/sampler.cc", "#include \"sampling/noise.h\""},
           {"sampling/draw.cc", "#include <Random123/philox.h>"},
           {"sampling/noise.h", "#include <Random123/philox.h>"},
           {"sampling/support.cc", "#include \"hwy/highway.h\""},
           {"sampling/support.cc", "#include \"sampling/kernels/simd-inl.h\""},
           {"sampling/kernels.h", "#include \"sampling/kernels/simd-inl.h\""},
           {"sampling/kernels.h", "#include \"hwy/highway.h\""},
           {"sampling/chain.cc", "#include \"sampling/sampler.h\""},
           {"sampling/filters/min_p.cc", "#include \"sampling/chain.h\""},
           {"sampling/filters/min_p.cc", "#include \"sampling/params.h\""},
           {"sampling/filters/min_p.cc", "#include \"sampling/filters/top_p.h\""},
           {"sampling/edits/dry.cc", "#include \"sampling/support.h\""},
           {"sampling/row.cc", "#include \"sampling/support.h\""},
           {"sampling/support.h", "#include \"sampling/filters.h\""},
           {"sampling/kernels.h", "#include \"sampling/support.h\""},
           {"sampling/types.h", "#include \"sampling/params.h\""},
           {"sampling/params.h", "#include \"sampling/types.h\""},
           {"sampling/brand_new.cc", "#include <vector>"},
           {"sampling/draw.cc", "#include MACRO"},
       }) {
    EXPECT_EQ(BadArrows(line.file, std::string("// text\n") + line.text + "\nint x;").size(), 1u)
        << line.file << ": " << line.text;
  }
}

TEST(IncludeWallTest, GoodLinesPass) {
  for (const Line& line : {
           Line{"client/client.cc", "#include \"tokendraw/v1/sampling.grpc.pb.h\""},
           {"client/client.cc", "#include \"client/client.h\""},
           {"service/convert.cc", "#include \"sampling/params.h\""},
           {"service/convert.cc", "#include <grpcpp/grpcpp.h>"},
           {"service/convert.cc", "#include \"absl/status/status.h\""},
           {"sampling/sampler.cc", "#include \"sampling/chain.h\""},
           {"sampling/sampler.cc", "// #include \"service/server.h\""},
           {"sampling/noise.cc", "#include <Random123/philox.h>"},
           {"sampling/kernels/lists.cc", "#include \"hwy/highway.h\""},
           {"sampling/kernels/lists.cc", "#include \"sampling/kernels/simd-inl.h\""},
           {"sampling/filters/min_p.cc", "#include \"sampling/filters.h\""},
           {"sampling/edits/dry.cc", "#include <vector>"},
           {"sampling/chain.h", "#include \"absl/types/span.h\""},
       }) {
    EXPECT_THAT(BadArrows(line.file, line.text), testing::IsEmpty());
  }
}

}  // namespace
}  // namespace tokendraw
