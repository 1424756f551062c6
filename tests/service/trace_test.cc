#include "service/trace.h"

#include <gtest/gtest.h>

#include <string>

namespace tokendraw {
namespace {

const std::string kTraceId = "4bf92f3577b34da6a3ce929d0e0e4736";
const std::string kParentId = "00f067aa0ba902b7";

TEST(TraceTest, ReadsATraceparent) {
  const TraceContext trace = ParseTraceparent("00-" + kTraceId + "-" + kParentId + "-01");
  EXPECT_EQ(trace.trace_id, kTraceId);
  EXPECT_EQ(trace.parent_id, kParentId);
}

TEST(TraceTest, LaterVersionsMayGoOn) {
  const std::string header = "-" + kTraceId + "-" + kParentId + "-01";
  EXPECT_EQ(ParseTraceparent("01" + header + "-more").trace_id, kTraceId);
  EXPECT_EQ(ParseTraceparent("01" + header).trace_id, kTraceId);
  EXPECT_EQ(ParseTraceparent("01" + header + "more").trace_id, "");
  EXPECT_EQ(ParseTraceparent("00" + header + "-more").trace_id, "");
  EXPECT_EQ(ParseTraceparent("ff" + header).trace_id, "");
}

TEST(TraceTest, WhatIsMalformedIsNothing) {
  const std::string good = "00-" + kTraceId + "-" + kParentId + "-01";
  for (size_t size = 0; size < good.size(); ++size) {
    EXPECT_EQ(ParseTraceparent(good.substr(0, size)).trace_id, "") << size;
  }
  for (size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = good[i] == '-' ? '0' : 'G';
    EXPECT_EQ(ParseTraceparent(bad).trace_id, "") << bad;
  }
  EXPECT_EQ(ParseTraceparent("00-" + std::string(32, '0') + "-" + kParentId + "-01").trace_id, "");
  EXPECT_EQ(ParseTraceparent("00-" + kTraceId + "-" + std::string(16, '0') + "-01").trace_id, "");
}

}  // namespace
}  // namespace tokendraw
