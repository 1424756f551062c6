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

std::string RowText(const Tensor& tensor, size_t row, size_t bytes) {
  std::vector<std::byte> room;
  return {reinterpret_cast<const char*>(tensor.Row(row, room)), bytes};
}

TEST(TensorTest, ARowInOnePlaceStaysThere) {
  const std::string text = "abc-def-ghi-";
  Tensor tensor;
  tensor.AddPart({View(text)}, 3, 4);
  std::vector<std::byte> room;
  EXPECT_EQ(tensor.Row(2, room), View(text).data() + 8);
  EXPECT_TRUE(room.empty());
}

TEST(TensorTest, FragmentsOfAnySize) {
  const std::string text = "abcde--fghij--klmno--";
  for (size_t size = 1; size <= text.size(); ++size) {
    Tensor tensor;
    tensor.AddPart(Cut(text, size), 5, 7);
    EXPECT_EQ(RowText(tensor, 0, 5), "abcde") << size;
    EXPECT_EQ(RowText(tensor, 1, 5), "fghij") << size;
    EXPECT_EQ(RowText(tensor, 2, 5), "klmno") << size;
  }
}

TEST(TensorTest, PartsAreColumns) {
  const std::string left = "ab.cd.", middle = "123456", right = "XY";
  for (size_t size = 1; size <= 6; ++size) {
    Tensor tensor;
    tensor.AddPart(Cut(left, size), 2, 3);
    tensor.AddPart(Cut(middle, size), 3, 3);
    tensor.AddPart(Cut(right, size), 1, 1);
    EXPECT_EQ(RowText(tensor, 0, 6), "ab123X") << size;
    EXPECT_EQ(RowText(tensor, 1, 6), "cd456Y") << size;
  }
}

}  // namespace
}  // namespace tokendraw
