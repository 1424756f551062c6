#include "service/tensor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace tokendraw {
namespace {

std::span<const std::byte> View(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

Fragments Cut(const std::string& text, size_t size) {
  Fragments fragments;
  for (size_t at = 0; at < text.size(); at += size) {
    fragments.push_back(View(text).subspan(at, std::min(size, text.size() - at)));
  }
  return fragments;
}

std::string RowText(const Tensor& tensor, size_t row) {
  RowRoom room;
  std::string text;
  for (const auto& piece : tensor.Row(row, room)) {
    EXPECT_FALSE(piece.empty());
    text.append(reinterpret_cast<const char*>(piece.data()), piece.size());
  }
  return text;
}

TEST(TensorTest, RowsStayWhereTheyLie) {
  const std::string text = "abc-def-ghi-";
  Tensor tensor;
  tensor.AddPart({View(text)}, 3, 4);
  RowRoom room;
  const auto pieces = tensor.Row(2, room);
  ASSERT_EQ(pieces.size(), 1);
  EXPECT_EQ(pieces[0].data(), View(text).data() + 8);
  EXPECT_TRUE(room.copy.empty());
}

TEST(TensorTest, FragmentsOfAnySize) {
  const std::string text = "abcde--fghij--klmno--";
  for (size_t size = 1; size <= text.size(); ++size) {
    Tensor tensor;
    tensor.AddPart(Cut(text, size), 5, 7);
    EXPECT_EQ(RowText(tensor, 0), "abcde") << size;
    EXPECT_EQ(RowText(tensor, 1), "fghij") << size;
    EXPECT_EQ(RowText(tensor, 2), "klmno") << size;
  }
}

TEST(TensorTest, PartsAreColumns) {
  const std::string left = "ab.cd.", middle = "123456", right = "XY";
  for (size_t size = 1; size <= 6; ++size) {
    Tensor tensor;
    tensor.AddPart(Cut(left, size), 2, 3);
    tensor.AddPart(Cut(middle, size), 3, 3);
    tensor.AddPart(Cut(right, size), 1, 1);
    EXPECT_EQ(RowText(tensor, 0), "ab123X") << size;
    EXPECT_EQ(RowText(tensor, 1), "cd456Y") << size;
  }
}

}  // namespace
}  // namespace tokendraw
