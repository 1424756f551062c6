#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "client/cli/logits_file.h"
#include "tests/client/fake_server.h"
#include "tests/client/files.h"

namespace tokendraw::cli {
namespace {

using ::testing::HasSubstr;

const std::string kSixFloats = FloatBytes({1, 2, 3, 4, 5, 6});

absl::StatusOr<LogitsRows> Read(const std::string& bytes) {
  const TempDir dir;
  return ReadNpy(WriteFile(dir.File("x.npy"), bytes));
}

std::string Header(const std::string& descr, const std::string& shape) {
  return "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }";
}

struct GoodCase {
  std::string bytes;
  v1::DataType type;
  std::int64_t rows;
  std::int32_t vocab_size;
};

TEST(NpyTest, Good) {
  const std::string f4 = Header("<f4", "(2, 3)");
  const GoodCase cases[] = {
      {NpyFile(f4, kSixFloats), v1::DATA_TYPE_F32, 2, 3},
      {NpyFile(Header("<f2", "(3, 4)"), kSixFloats), v1::DATA_TYPE_F16, 3, 4},
      {NpyFile(Header("<u2", "(12,)"), kSixFloats), v1::DATA_TYPE_BF16, 1, 12},
      {NpyFile(R"({"shape": (6,), "fortran_order": False, "descr": "<f4"})", kSixFloats),
       v1::DATA_TYPE_F32, 1, 6},
      {std::string("\x93NUMPY\x02\x00", 8) + LittleEndian(f4.size(), 4) + f4 + kSixFloats,
       v1::DATA_TYPE_F32, 2, 3},
  };
  for (const GoodCase& c : cases) {
    const auto rows = Read(c.bytes);
    ASSERT_TRUE(rows.ok()) << rows.status();
    EXPECT_EQ(rows->type, c.type);
    EXPECT_EQ(rows->rows, c.rows);
    EXPECT_EQ(rows->vocab_size, c.vocab_size);
    EXPECT_EQ(rows->data, kSixFloats);
  }
}

struct BadCase {
  std::string bytes;
  std::string text;
};

TEST(NpyTest, Bad) {
  const std::string good = NpyFile(Header("<f4", "(6,)"), kSixFloats);
  const BadCase cases[] = {
      {"", "truncated"},
      {good.substr(0, 9), "truncated"},
      {good.substr(0, 40), "truncated"},
      {"NUMPY\x01" + good.substr(6), "not a .npy file"},
      {"\x93NUMPY\x04" + good.substr(7), "version"},
      {std::string("\x93NUMPY\x02\x00", 8) + LittleEndian(~0ull, 4) + good.substr(10), "truncated"},
      {NpyFile("{'descr': '<f4'", kSixFloats), "not a dictionary"},
      {NpyFile("[]", kSixFloats), "not a dictionary"},
      {NpyFile("{'fortran_order': False, 'shape': (6,), }", kSixFloats), "dtype"},
      {NpyFile(Header(">f4", "(6,)"), kSixFloats), "dtype"},
      {NpyFile(Header("<f8", "(3,)"), kSixFloats), "dtype"},
      {NpyFile("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }", kSixFloats),
       "C order"},
      {NpyFile("{'descr': '<f4', 'shape': (2, 3), }", kSixFloats), "C order"},
      {NpyFile(Header("<f4", "()"), kSixFloats), "shape"},
      {NpyFile(Header("<f4", "(1, 2, 3)"), kSixFloats), "shape"},
      {NpyFile(Header("<f4", "(0, 6)"), ""), "shape"},
      {NpyFile(Header("<f4", "(4611686018427387904, 4)"), kSixFloats), "shape"},
      {NpyFile(Header("<f4", "(5,)"), kSixFloats), "needs 20 bytes of data, the file has 24"},
      {NpyFile(Header("<f4", "(7,)"), kSixFloats), "needs 28 bytes of data, the file has 24"},
  };
  for (const BadCase& c : cases) {
    const absl::Status status = Read(c.bytes).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << c.text;
    EXPECT_THAT(std::string(status.message()), HasSubstr(c.text));
  }
}

}  // namespace
}  // namespace tokendraw::cli
