#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "tests/service/requests.h"

namespace tokendraw {
namespace {

struct BadShards {
  const char* name;
  std::function<void(v1::LogitsTensor&)> spoil;
  const char* text;
};

class BadShardsTest : public ::testing::TestWithParam<BadShards> {};

// Two shards of one row of six columns, spoiled in one way.
TEST_P(BadShardsTest, IsInvalidAndSaysWhere) {
  v1::SampleTokensRequest request;
  v1::LogitsTensor& logits = *request.mutable_logits();
  logits.set_vocab_size(6);
  logits.set_row_count(1);
  logits.set_data_type(v1::DATA_TYPE_F32);
  for (int i = 0; i < 2; ++i) {
    v1::VocabularyShard& shard = *logits.mutable_shards()->add_shards();
    shard.set_offset(3 * i);
    shard.set_width(3);
    shard.set_inline_(std::string(12, '\0'));
  }
  ASSERT_TRUE(Convert(request).ok());
  GetParam().spoil(logits);
  const absl::Status status = Convert(request);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr(GetParam().text));
}

v1::VocabularyShard& Second(v1::LogitsTensor& logits) {
  return *logits.mutable_shards()->mutable_shards(1);
}

INSTANTIATE_TEST_SUITE_P(
    , BadShardsTest,
    ::testing::Values(
        BadShards{"Gap", [](v1::LogitsTensor& l) { Second(l).set_offset(4); },
                  "logits.shards.shards[1].offset: offset must be where the shard before ends, 3, "
                  "got 4"},
        BadShards{"Overlap", [](v1::LogitsTensor& l) { Second(l).set_offset(2); },
                  "logits.shards.shards[1].offset: "},
        BadShards{"NoWidth", [](v1::LogitsTensor& l) { Second(l).set_width(0); },
                  "logits.shards.shards[1].width: width must be >= 1"},
        BadShards{"Stride", [](v1::LogitsTensor& l) { Second(l).set_row_stride(2); },
                  "logits.shards.shards[1].row_stride: row_stride must be 0 or >= width"},
        BadShards{"Length", [](v1::LogitsTensor& l) { Second(l).set_inline_("x"); },
                  "logits.shards.shards[1].inline: expected 12 bytes (row_count 1 x row_stride 3 x "
                  "4 bytes), got 1"},
        BadShards{"NoPayload", [](v1::LogitsTensor& l) { Second(l).clear_payload(); },
                  "logits.shards.shards[1].payload: one of inline, shared_memory, values must be "
                  "set"},
        BadShards{"Missing",
                  [](v1::LogitsTensor& l) { l.mutable_shards()->mutable_shards()->RemoveLast(); },
                  "logits.shards.shards: expected widths that add up to vocab_size 6, got 3"},
        BadShards{"None", [](v1::LogitsTensor& l) { l.mutable_shards()->Clear(); },
                  "logits.shards.shards: expected 1 to 1024 shards, got 0"},
        BadShards{"TooWide",
                  [](v1::LogitsTensor& l) {
                    Second(l).set_width(2147483647);
                    l.mutable_shards()->add_shards()->set_width(2147483647);
                  },
                  "logits.shards.shards[1].inline: expected 8589934588 bytes"},
        BadShards{"Values",
                  [](v1::LogitsTensor& l) {
                    l.set_data_type(v1::DATA_TYPE_F16);
                    Second(l).mutable_values();
                  },
                  "logits.data_type: data_type of values must be DATA_TYPE_F32"}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace tokendraw
