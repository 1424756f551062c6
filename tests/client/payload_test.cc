// Which way rows go.
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <string>

#include "tests/client/row_buffer_fixture.h"

namespace tokendraw {
namespace {

using PayloadTest = RowBufferFixture;

TEST_F(PayloadTest, RowsStayInASharedFile) {
  const FakeServer server(service_, "127.0.0.1:0");
  const auto client = MakeClient({.addresses = {server.address()}});
  ExpectPayload(*client, kShared, Payload::kSharedMemory);
  EXPECT_EQ(service_.shared, 1 + 2);  // the proof comes first
  EXPECT_TRUE(DirectoryIsEmpty());
}

TEST_F(PayloadTest, SmallTensorsGoInline) {
  const FakeServer server(service_, "127.0.0.1:0");
  const auto client = MakeClient({.addresses = {server.address()}});
  ExpectPayload(*client, kShared - 1, Payload::kInline);
}

TEST_F(PayloadTest, WithoutSharedMemoryRowsGoInline) {
  FakeService service;
  const FakeServer server(service, "127.0.0.1:0");
  ExpectPayload(*MakeClient({.addresses = {server.address()}}), kShared, Payload::kInline);
  EXPECT_EQ(service.shared, 0);
}

TEST_F(PayloadTest, AServerThatDoesNotNameItsDirectoryIsBelievedByOption) {
  service_.info.clear_shared_memory_dir();
  const FakeServer server(service_, "127.0.0.1:0");
  ExpectPayload(*MakeClient({.addresses = {server.address()}}), kShared, Payload::kInline);
  ExpectPayload(*MakeClient({.addresses = {server.address()}, .shm_dir = dir_.path()}), kShared,
                Payload::kSharedMemory);
}

TEST_F(PayloadTest, AServerWithoutSharedMemoryIsNotAsked) {
  service_.info.set_shared_memory(false);
  const FakeServer server(service_, "127.0.0.1:0");
  ExpectPayload(*MakeClient({.addresses = {server.address()}}), kShared, Payload::kInline);
  EXPECT_EQ(service_.shared, 0);
}

TEST_F(PayloadTest, TheDirectoryMayHaveAnotherPathHere) {
  const TempDir other;
  std::filesystem::create_directory_symlink(dir_.path(), other.File("link"));
  service_.info.set_shared_memory_dir("/where/the/server/has/it");
  const FakeServer server(service_, "127.0.0.1:0");
  ExpectPayload(*MakeClient({.addresses = {server.address()}, .shm_dir = other.File("link")}),
                kShared, Payload::kSharedMemory);
}

TEST_F(PayloadTest, ADirectoryThatIsNotThereGoesInline) {
  service_.info.set_shared_memory_dir(dir_.File("missing"));
  const FakeServer server(service_, "127.0.0.1:0");
  ExpectPayload(*MakeClient({.addresses = {server.address()}}), kShared, Payload::kInline);
  EXPECT_EQ(service_.shared, 0);
}

TEST_F(PayloadTest, AnotherDirectoryUnderTheSamePathGoesInline) {
  const TempDir servers;
  service_.shm_dir = servers.path();
  const FakeServer server(service_, "127.0.0.1:0");
  ExpectPayload(*MakeClient({.addresses = {server.address()}}), kShared, Payload::kInline);
  EXPECT_GT(service_.shared, 0);
  EXPECT_TRUE(DirectoryIsEmpty());
}

TEST_F(PayloadTest, ARowErrorIsNoProof) {
  service_.answer = [](const v1::SampleTokensRequest& request, v1::SampleTokensResponse& response) {
    response = FakeAnswer(request);
    if (request.logits().vocab_size() == 1) response.add_row_errors();
    return grpc::Status::OK;
  };
  const FakeServer server(service_, "127.0.0.1:0");
  ExpectPayload(*MakeClient({.addresses = {server.address()}}), kShared, Payload::kInline);
}

// One of two servers shares the directory: a call to each, and a retry from one to the other.
TEST_F(PayloadTest, EachServerGetsRowsAsItTakesThem) {
  FakeService inline_only;
  const FakeServer a(inline_only, "127.0.0.1:0");
  const FakeServer b(service_, "127.0.0.1:0");
  const auto client =
      MakeClient({.addresses = {a.address(), b.address()}, .deadline = std::chrono::minutes(1)});
  const auto buffer = MakeBuffer(*client, kShared * sizeof(float));
  ASSERT_NE(buffer->file(), nullptr);
  int shared = 0;
  for (int token = 0; token < 4; ++token) {
    ExpectToken(client->SampleTokens(WriteRow(kShared, token, 0, *buffer), {buffer}), token);
    shared += buffer->last_payload() == Payload::kSharedMemory;
  }
  EXPECT_EQ(shared, 2);
  EXPECT_EQ(inline_only.shared, 0);
  service_.answer = [](const v1::SampleTokensRequest&, v1::SampleTokensResponse&) {
    return grpc::Status(grpc::StatusCode::UNAVAILABLE, "draining");
  };
  for (int token = 0; token < 4; ++token) {
    ExpectToken(client->SampleTokens(WriteRow(kShared, token, 0, *buffer), {buffer}), token);
    EXPECT_EQ(buffer->last_payload(), Payload::kInline);
  }
}

// Behind the address there is, after the proof, a server that does not see the file.
TEST_F(PayloadTest, ARefusedFileIsSentInline) {
  const TempDir elsewhere;
  for (const std::string& moved : {std::string(), elsewhere.path()}) {
    for (const bool streamed : {false, true}) {
      FakeService service;
      Share(service);
      const FakeServer server(service, "127.0.0.1:0");
      const auto client = MakeClient({.addresses = {server.address()}, .wait_for_ready = false});
      const auto buffer = MakeBuffer(*client, kShared * sizeof(float));
      const auto stream = client->OpenStream();
      ExpectToken(stream->Step(WriteRow(kShared, 1, 0, *buffer), {buffer}), 1);
      EXPECT_EQ(buffer->last_payload(), Payload::kSharedMemory);
      service.shm_dir = moved;
      for (const int token : {2, 3}) {
        const v1::SampleTokensRequest request = WriteRow(kShared, token, 0, *buffer);
        ExpectToken(
            streamed ? stream->Step(request, {buffer}) : client->SampleTokens(request, {buffer}),
            token);
        EXPECT_EQ(buffer->last_payload(), Payload::kInline);
      }
      EXPECT_EQ(service.shared, 1 + 1 + 1);  // the proof, the first row, the refused one
    }
  }
}

TEST_F(PayloadTest, OtherErrorsDoNotEndTheSharing) {
  const FakeServer server(service_, "127.0.0.1:0");
  const auto client = MakeClient({.addresses = {server.address()}});
  const auto buffer = MakeBuffer(*client, kShared * sizeof(float));
  const auto answer = service_.answer;
  service_.answer = [](const v1::SampleTokensRequest&, v1::SampleTokensResponse&) {
    return grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "params[0].top_p: too large");
  };
  const v1::SampleTokensRequest request = WriteRow(kShared, 1, 0, *buffer);
  EXPECT_TRUE(absl::IsInvalidArgument(client->SampleTokens(request, {buffer}).status()));
  service_.answer = answer;
  ExpectToken(client->SampleTokens(request, {buffer}), 1);
  EXPECT_EQ(buffer->last_payload(), Payload::kSharedMemory);
}

}  // namespace
}  // namespace tokendraw
