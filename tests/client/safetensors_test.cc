#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "client/cli/logits_file.h"
#include "tests/client/fake_server.h"
#include "tests/client/files.h"

namespace tokendraw::cli {
namespace {

using ::testing::HasSubstr;

const std::string kSixFloats = FloatBytes({1, 2, 3, 4, 5, 6});

absl::StatusOr<LogitsRows> Read(const std::string& bytes,
                                const std::optional<std::string>& tensor = std::nullopt) {
  const TempDir dir;
  return ReadSafetensors(WriteFile(dir.File("x.safetensors"), bytes), tensor);
}

struct GoodCase {
  std::string header;
  std::optional<std::string> tensor;
  v1::DataType type;
  std::int64_t rows;
  std::int32_t vocab_size;
  std::string data;
};

TEST(SafetensorsTest, Good) {
  const std::string two = R"("a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                          R"("logits":{"dtype":"F32","shape":[2,2],"data_offsets":[8,24]})";
  const GoodCase cases[] = {
      {R"({"x":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}})",
       {},
       v1::DATA_TYPE_F32,
       2,
       3,
       kSixFloats},
      {R"({"__metadata__":{"a":"b"},"x":{"dtype":"F16","shape":[3,4],"data_offsets":[0,24]}})",
       {},
       v1::DATA_TYPE_F16,
       3,
       4,
       kSixFloats},
      {R"({"x":{"dtype":"BF16","shape":[12],"data_offsets":[0,24]}}   )", "x", v1::DATA_TYPE_BF16,
       1, 12, kSixFloats},
      {"{" + two + "}", {}, v1::DATA_TYPE_F32, 2, 2, FloatBytes({3, 4, 5, 6})},
      {"{" + two + "}", "a", v1::DATA_TYPE_F32, 1, 2, FloatBytes({1, 2})},
  };
  for (const GoodCase& c : cases) {
    const auto rows = Read(SafetensorsFile(c.header, kSixFloats), c.tensor);
    ASSERT_TRUE(rows.ok()) << rows.status() << c.header;
    EXPECT_EQ(rows->type, c.type);
    EXPECT_EQ(rows->rows, c.rows);
    EXPECT_EQ(rows->vocab_size, c.vocab_size);
    EXPECT_EQ(rows->data, c.data);
  }
}

struct BadCase {
  std::string bytes;
  std::string text;
};

std::string WithTensor(const std::string& tensor) {
  return SafetensorsFile("{\"x\":" + tensor + "}", kSixFloats);
}

TEST(SafetensorsTest, Bad) {
  const std::string huge = "4611686018427387904";  // 2^62
  const BadCase cases[] = {
      {"", "truncated"},
      {"1234567", "truncated"},
      {LittleEndian(10, 8) + "{}", "truncated"},
      {LittleEndian(~0ull, 8) + "{}", "the header claims 18446744073709551615 bytes"},
      {SafetensorsFile("[]", ""), "not a JSON object"},
      {SafetensorsFile("{\"x\"", ""), "not a JSON object"},
      {SafetensorsFile(std::string(200'000, '['), ""), "not a JSON object"},
      {SafetensorsFile("{}", ""), "the file has none"},
      {SafetensorsFile(R"({"a":{},"b":{}})", ""),
       "--tensor must name one of the tensors; the file "
       "has a, b"},
      {WithTensor("1"), "the tensor is not a JSON object"},
      {WithTensor(R"({"shape":[6],"data_offsets":[0,24]})"), "dtype"},
      {WithTensor(R"({"dtype":32,"shape":[6],"data_offsets":[0,24]})"), "dtype"},
      {WithTensor(R"({"dtype":"F64","shape":[3],"data_offsets":[0,24]})"), "not \"F64\""},
      {WithTensor(R"({"dtype":"F32","data_offsets":[0,24]})"), "shape"},
      {WithTensor(R"({"dtype":"F32","shape":[],"data_offsets":[0,24]})"), "shape"},
      {WithTensor(R"({"dtype":"F32","shape":[1,2,3],"data_offsets":[0,24]})"), "shape"},
      {WithTensor(R"({"dtype":"F32","shape":[2,-3],"data_offsets":[0,24]})"), "shape"},
      {WithTensor(R"({"dtype":"F32","shape":[2,3.0],"data_offsets":[0,24]})"), "shape"},
      {WithTensor(R"({"dtype":"F32","shape":[0,3],"data_offsets":[0,0]})"), "shape"},
      {WithTensor(R"({"dtype":"F32","shape":[)" + huge + R"(,4],"data_offsets":[0,0]})"), "shape"},
      {WithTensor(R"({"dtype":"F32","shape":[)" + huge + R"(,2],"data_offsets":[0,0]})"), "shape"},
      {WithTensor(R"({"dtype":"F32","shape":[1,2147483648],"data_offsets":[0,24]})"), "shape"},
      {WithTensor(R"({"dtype":"F32","shape":)" + std::string(200'000, '[') +
                  std::string(200'000, ']') + "}"),
       "shape"},
      {WithTensor(R"({"dtype":"F32","shape":[6]})"), "data_offsets"},
      {WithTensor(R"({"dtype":"F32","shape":[6],"data_offsets":[0]})"), "data_offsets"},
      {WithTensor(R"({"dtype":"F32","shape":[6],"data_offsets":[-24,0]})"), "data_offsets"},
      {WithTensor(R"({"dtype":"F32","shape":[6],"data_offsets":[24,0]})"), "do not span"},
      {WithTensor(R"({"dtype":"F32","shape":[6],"data_offsets":[0,20]})"), "do not span the 24"},
      {WithTensor(R"({"dtype":"F32","shape":[6],"data_offsets":[4,28]})"), "truncated"},
      {WithTensor(R"({"dtype":"F32","shape":[1],"data_offsets":[60,64]})"), "truncated"},
      {WithTensor(R"({"dtype":"F32","shape":[1],"data_offsets":[18446744073709551611,)"
                  R"(18446744073709551615]})"),
       "truncated"},
  };
  for (const BadCase& c : cases) {
    const absl::Status status = Read(c.bytes).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << c.text;
    EXPECT_THAT(std::string(status.message()), HasSubstr(c.text));
  }
}

TEST(SafetensorsTest, ANamedTensorMustBeThere) {
  const auto rows = Read(WithTensor(R"({"dtype":"F32","shape":[6],"data_offsets":[0,24]})"), "y");
  EXPECT_THAT(std::string(rows.status().message()), HasSubstr("no tensor \"y\"; the file has x"));
}

TEST(SafetensorsTest, AFileMustBeThere) {
  const TempDir dir;
  EXPECT_TRUE(absl::IsNotFound(ReadSafetensors(dir.File("none"), {}).status()));
  EXPECT_TRUE(absl::IsNotFound(ReadSafetensors(dir.File("."), {}).status()));
}

}  // namespace
}  // namespace tokendraw::cli
