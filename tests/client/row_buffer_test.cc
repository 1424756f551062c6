#include "client/row_buffer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <fstream>
#include <string>

#include "client/shared_file.h"
#include "tests/client/row_buffer_fixture.h"

namespace tokendraw {
namespace {

using ::testing::HasSubstr;

using RowBufferTest = RowBufferFixture;

TEST_F(RowBufferTest, IsWrittenAgainStepAfterStep) {
  const FakeServer server(service_, dir_.Socket("s"));
  const auto client = MakeClient({.addresses = {server.address()}});
  const auto buffer = MakeBuffer(*client, kShared * sizeof(float));
  const auto stream = client->OpenStream();
  for (int step = 0; step < 20; ++step) {
    ExpectToken(stream->Step(WriteRow(kShared, 100 + step, 0, *buffer), {buffer}), 100 + step);
    ExpectToken(client->SampleTokens(WriteRow(kShared, step, 0, *buffer), {buffer}), step);
  }
}

TEST_F(RowBufferTest, MessagesInFlightHaveTheirOwnRows) {
  const FakeServer server(service_, "127.0.0.1:0");
  const auto client = MakeClient({.addresses = {server.address()}});
  for (const int vocab_size : {kShared, 100}) {
    auto a = MakeBuffer(*client, vocab_size * sizeof(float));
    auto b = MakeBuffer(*client, vocab_size * sizeof(float));
    const auto stream = client->OpenStream();
    ASSERT_TRUE(stream->Write(WriteRow(vocab_size, 1, 0, *a), {a}).ok());
    ASSERT_TRUE(stream->Write(WriteRow(vocab_size, 2, 0, *b), {b}).ok());
    a.reset();  // the stream holds it
    b.reset();
    ExpectToken(stream->Read(), 1);
    ExpectToken(stream->Read(), 2);
  }
  EXPECT_TRUE(DirectoryIsEmpty());
}

TEST_F(RowBufferTest, TheSizeIsCheckedBeforeSending) {
  FakeService service;
  service.info.set_max_message_bytes(10'000);
  const FakeServer server(service, "127.0.0.1:0");
  const auto client = MakeClient({.addresses = {server.address()}});
  const auto buffer = MakeBuffer(*client, 10'000);
  const v1::SampleTokensRequest request = WriteRow(2500, 1, 0, *buffer);
  const auto stream = client->OpenStream();
  for (const absl::Status& status :
       {client->SampleTokens(request, {buffer}).status(), stream->Step(request, {buffer}).status(),
        stream->Write(request, {buffer})}) {
    EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("at most 10000"));
  }
  EXPECT_EQ(stream->in_flight(), 0u);
  EXPECT_EQ(service.calls + service.messages, 0);
  ExpectToken(client->SampleTokens(WriteRow(2400, 1, 0, *buffer), {buffer}), 1);
}

TEST_F(RowBufferTest, RowsBeyondTheBufferAreRefused) {
  const FakeServer server(service_, "127.0.0.1:0");
  const auto client = MakeClient({.addresses = {server.address()}});
  const auto buffer = MakeBuffer(*client, 4000);
  const v1::SampleTokensRequest request = WriteRow(1000, 1, 0, *buffer);
  const auto stream = client->OpenStream();
  for (const absl::Status& status :
       {client->SampleTokens(request, {buffer, 1}).status(),
        stream->Step(request, {buffer, 1}).status(), stream->Write(request, {buffer, 1})}) {
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  }
  EXPECT_EQ(stream->in_flight(), 0u);
}

TEST_F(RowBufferTest, CreationWaitsForAServer) {
  const auto client = MakeClient({.addresses = {dir_.Socket("nobody"), dir_.Socket("neither")},
                                  .deadline = std::chrono::milliseconds(200)});
  EXPECT_TRUE(absl::IsDeadlineExceeded(client->CreateRowBuffer(1).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(client->CreateRowBuffer(0).status()));
}

TEST_F(RowBufferTest, ADeadServerDoesNotKeepAnotherOnesDirectory) {
  const FakeServer server(service_, "127.0.0.1:0");
  for (const bool first : {false, true}) {
    const std::string dead = dir_.Socket("nobody");
    const auto client =
        MakeClient({.addresses = {first ? dead : server.address(), first ? server.address() : dead},
                    .deadline = std::chrono::minutes(1)});
    EXPECT_NE(MakeBuffer(*client, 1)->file(), nullptr);
  }
}

TEST_F(RowBufferTest, WithoutRoomIsResourceExhausted) {
  if (MemoryFileSystem() != "/dev/shm") GTEST_SKIP() << "other file systems say EFBIG";
  const FakeServer server(service_, "127.0.0.1:0");
  const auto client = MakeClient({.addresses = {server.address()}});
  EXPECT_TRUE(absl::IsResourceExhausted(client->CreateRowBuffer(std::size_t{1} << 50).status()));
  EXPECT_TRUE(DirectoryIsEmpty());
}

long ResidentBytes() {
  std::ifstream statm("/proc/self/statm");
  long pages, resident;
  statm >> pages >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

TEST_F(RowBufferTest, LeavesNothingBehindInTenThousandLives) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  constexpr long kSlack = 64 << 20;  // sanitizers keep freed memory for a while
#else
  constexpr long kSlack = 1 << 20;
#endif
  const auto directory = *SharedDirectory::Open(dir_.path());
  long at_thousand = 0;
  for (int life = 1; life <= 10'000; ++life) {
    const auto buffer = RowBuffer::Create(life % 2 == 0 ? directory : nullptr, 10'000);
    ASSERT_TRUE(buffer.ok()) << buffer.status();
    std::memset((*buffer)->bytes().data(), 1, (*buffer)->bytes().size());
    if (life == 1000) at_thousand = ResidentBytes();
  }
  EXPECT_LE(ResidentBytes(), at_thousand + kSlack);
  EXPECT_TRUE(DirectoryIsEmpty());
}

}  // namespace
}  // namespace tokendraw
