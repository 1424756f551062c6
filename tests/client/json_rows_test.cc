#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "client/cli/logits_file.h"
#include "tests/client/fake_server.h"
#include "tests/client/files.h"

namespace tokendraw::cli {
namespace {

using ::testing::HasSubstr;

constexpr float kInf = std::numeric_limits<float>::infinity();

absl::StatusOr<LogitsRows> Parse(const std::string& text) {
  std::istringstream in(text);
  return ParseJsonRows(in);
}

struct GoodCase {
  std::string text;
  std::int64_t rows;
  std::vector<float> values;
};

TEST(JsonRowsTest, Good) {
  const GoodCase cases[] = {
      {"[1]", 1, {1}},
      {"[1.5, -2, 3e2]", 1, {1.5, -2, 300}},
      {"[[1, 2], [3, 4], [5, 6]]", 3, {1, 2, 3, 4, 5, 6}},
      {R"([null, "-inf", "inf", "-Infinity"])", 1, {-kInf, -kInf, kInf, -kInf}},
      {"[3.4028234e38]", 1, {std::numeric_limits<float>::max()}},
  };
  for (const GoodCase& c : cases) {
    const auto rows = Parse(c.text);
    ASSERT_TRUE(rows.ok()) << rows.status();
    EXPECT_EQ(rows->type, v1::DATA_TYPE_F32);
    EXPECT_EQ(rows->rows, c.rows);
    EXPECT_EQ(rows->vocab_size, static_cast<int>(c.values.size()) / c.rows);
    EXPECT_EQ(rows->data, FloatBytes(c.values)) << c.text;
  }
  const auto nan = Parse(R"(["nan"])");
  ASSERT_TRUE(nan.ok()) << nan.status();
  float value;
  std::memcpy(&value, nan->data.data(), sizeof(value));
  EXPECT_TRUE(std::isnan(value));
}

struct BadCase {
  std::string text;
  std::string error;
};

TEST(JsonRowsTest, Bad) {
  const BadCase cases[] = {
      {"", "not a JSON array"},
      {"{}", "not a JSON array"},
      {"[", "not a JSON array"},
      {"[1] [2]", "not a JSON array"},
      {"[]", "not a JSON array"},
      {"[[]]", "row 0 is not an array of numbers"},
      {"[[1], 2]", "row 1 is not an array of numbers"},
      {"[[1, 2], [3]]", "row 1 has 1 elements, row 0 has 2"},
      {"[1, [2]]", "row 0, element 1: not a number"},
      {"[[1, 2], [3, true]]", "row 1, element 1: not a number"},
      {"[1e39]", "does not fit 32 bits"},
      {R"(["1"])", "a string must be"},
      {R"(["infinite"])", "a string must be"},
      {std::string(200'000, '[') + std::string(200'000, ']'), "row 0, element 0: not a number"},
  };
  for (const BadCase& c : cases) {
    const absl::Status status = Parse(c.text).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << c.error;
    EXPECT_THAT(std::string(status.message()), HasSubstr(c.error));
  }
}

TEST(ReadLogitsTest, GoesByTheName) {
  const TempDir dir;
  std::istringstream in("[1, 2, 3]");
  EXPECT_EQ(ReadLogits("-", {}, in)->vocab_size, 3);
  EXPECT_EQ(ReadLogits(WriteFile(dir.File("x.json"), "[[1], [2]]"), {}, in)->rows, 2);
  const std::string npy = NpyFile("{'descr':'<u2','fortran_order':False,'shape':(2,)}", "abcd");
  EXPECT_EQ(ReadLogits(WriteFile(dir.File("x.npy"), npy), {}, in)->data, "abcd");
  const std::string safetensors =
      SafetensorsFile(R"({"t":{"dtype":"F16","shape":[2],"data_offsets":[0,4]}})", "abcd");
  EXPECT_EQ(ReadLogits(WriteFile(dir.File("x.safetensors"), safetensors), "t", in)->data, "abcd");
}

TEST(ReadLogitsTest, ErrorsNameTheFile) {
  const TempDir dir;
  std::istringstream in("x");
  struct Case {
    std::string file;
    std::optional<std::string> tensor;
    std::string text;
  };
  const Case cases[] = {
      {"-", {}, "stdin: not a JSON"},
      {"-", "t", "stdin: --tensor is for"},
      {dir.File("none.json"), {}, dir.File("none.json: cannot be opened")},
      {dir.File("none.npy"), {}, dir.File("none.npy: ")},
  };
  for (const Case& c : cases) {
    const absl::Status status = ReadLogits(c.file, c.tensor, in).status();
    EXPECT_THAT(std::string(status.message()), testing::StartsWith(c.text));
  }
}

}  // namespace
}  // namespace tokendraw::cli
