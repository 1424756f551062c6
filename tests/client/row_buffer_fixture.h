// Rows in buffers, sent to fake servers.
#ifndef TOKENDRAW_TESTS_CLIENT_ROW_BUFFER_FIXTURE_H_
#define TOKENDRAW_TESTS_CLIENT_ROW_BUFFER_FIXTURE_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <memory>
#include <vector>

#include "client/client.h"
#include "tests/client/fake_server.h"

namespace tokendraw {

// 64 KiB are 16,384 logits: from here on rows are shared.
inline constexpr int kShared = 16'384;

inline std::unique_ptr<Client> MakeClient(const ClientOptions& options) {
  auto client = Client::Create(options);
  EXPECT_TRUE(client.ok()) << client.status();
  return *std::move(client);
}

inline std::shared_ptr<RowBuffer> MakeBuffer(Client& client, std::size_t bytes) {
  auto buffer = client.CreateRowBuffer(bytes);
  EXPECT_TRUE(buffer.ok()) << buffer.status();
  return *std::move(buffer);
}

// A row at `offset` whose largest logit is at id `token`, and the request for it.
inline v1::SampleTokensRequest WriteRow(int vocab_size, int token, std::size_t offset,
                                        const RowBuffer& buffer) {
  std::vector<float> row(vocab_size, 0);
  row[token] = 1;
  std::memcpy(buffer.bytes().data() + offset, row.data(), row.size() * sizeof(float));
  v1::SampleTokensRequest request;
  request.mutable_logits()->set_data_type(v1::DATA_TYPE_F32);
  request.mutable_logits()->set_vocab_size(vocab_size);
  request.mutable_logits()->set_row_count(1);
  return request;
}

inline void ExpectToken(const absl::StatusOr<v1::SampleTokensResponse>& response, int token) {
  ASSERT_TRUE(response.ok()) << response.status();
  EXPECT_THAT(response->token_ids(), testing::ElementsAre(token));
}

class RowBufferFixture : public testing::Test {
 protected:
  RowBufferFixture() { Share(service_); }

  // The service takes shared memory in dir_, and says so.
  void Share(FakeService& service) {
    service.shm_dir = dir_.path();
    service.info.set_shared_memory(true);
    service.info.set_shared_memory_dir(dir_.path());
  }

  // How a row of `vocab_size` logits goes, unary and on a stream, with its token.
  void ExpectPayload(Client& client, int vocab_size, Payload payload) {
    const auto buffer = MakeBuffer(client, vocab_size * sizeof(float) + 8);
    EXPECT_EQ(buffer->last_payload(), Payload::kNone);
    ExpectToken(client.SampleTokens(WriteRow(vocab_size, 7, 8, *buffer), {buffer, 8}), 7);
    EXPECT_EQ(buffer->last_payload(), payload);
    buffer->set_last_payload(Payload::kNone);
    ExpectToken(client.OpenStream()->Step(WriteRow(vocab_size, 5, 8, *buffer), {buffer, 8}), 5);
    EXPECT_EQ(buffer->last_payload(), payload);
  }

  bool DirectoryIsEmpty() const { return std::filesystem::is_empty(dir_.path()); }

  const TempDir dir_{MemoryFileSystem()};
  FakeService service_;
};

}  // namespace tokendraw

#endif  // TOKENDRAW_TESTS_CLIENT_ROW_BUFFER_FIXTURE_H_
