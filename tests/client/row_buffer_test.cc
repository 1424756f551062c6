#include "client/row_buffer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "client/shared_file.h"
#include "tests/client/row_buffer_fixture.h"
#include "tests/sanitizers.h"

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
  FakeService inline_only;
  const FakeServer a(inline_only, "127.0.0.1:0");
  const FakeServer b(service_, "127.0.0.1:0");
  const std::string dead = dir_.Socket("nobody");
  for (const std::vector<std::string>& addresses :
       {std::vector{dead, b.address()}, {b.address(), dead}, {a.address(), dead, b.address()}}) {
    const auto client = MakeClient({.addresses = addresses, .deadline = std::chrono::minutes(1)});
    EXPECT_NE(MakeBuffer(*client, 1)->file(), nullptr);
  }
}

// On a file system of its own, of 16 KiB: with room for one page, and then for none.
TEST_F(RowBufferTest, WithoutRoomIsResourceExhausted) {
  if (mount("tmpfs", dir_.path().c_str(), "tmpfs", 0, "size=16k") != 0) {
    GTEST_SKIP() << "only root can mount a file system: " << strerror(errno);
  }
  {
    const FakeServer server(service_, "127.0.0.1:0");
    const auto client = MakeClient({.addresses = {server.address()}});
    const absl::Status too_large = client->CreateRowBuffer(16'385).status();
    EXPECT_TRUE(absl::IsResourceExhausted(too_large)) << too_large;
    EXPECT_THAT(std::string(too_large.message()), HasSubstr("16385"));
    EXPECT_TRUE(DirectoryIsEmpty());
    const auto all = MakeBuffer(*client, 16'384);
    EXPECT_NE(all->file(), nullptr);
    std::memset(all->bytes().data(), 1, all->bytes().size());
    // No room for the proof.
    const auto other = MakeClient({.addresses = {server.address()}});
    EXPECT_TRUE(absl::IsResourceExhausted(other->CreateRowBuffer(1).status()));
  }
  EXPECT_EQ(umount(dir_.path().c_str()), 0) << strerror(errno);
}

long ResidentBytes() {
  std::ifstream statm("/proc/self/statm");
  long pages, resident;
  statm >> pages >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

TEST_F(RowBufferTest, LeavesNothingBehindInTenThousandLives) {
#if defined(TOKENDRAW_ASAN) || defined(TOKENDRAW_TSAN)
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
