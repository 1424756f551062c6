// A sampling service that does not sample: the token of a row is the id of its largest logit.
#ifndef TOKENDRAW_TESTS_CLIENT_FAKE_SERVER_H_
#define TOKENDRAW_TESTS_CLIENT_FAKE_SERVER_H_

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "tokendraw/v1/sampling.grpc.pb.h"

namespace tokendraw {

// The seed of a row that asks for none.
inline constexpr std::uint64_t kFakeSeed = 42;

// Rows must be inline F32, or candidates. A row with NaN gets the row error NOT_FINITE, candidates
// that are all negative get NEED_FULL_ROW.
v1::SampleTokensResponse FakeAnswer(const v1::SampleTokensRequest& request);

// A request whose only row [0, 1, 0] has the largest logit at id 1.
v1::SampleTokensRequest SmallRequest(std::int64_t step);

struct FakeService final : v1::SamplingService::Service {
  FakeService();

  grpc::Status SampleTokens(grpc::ServerContext* context, const v1::SampleTokensRequest* request,
                            v1::SampleTokensResponse* response) override;
  grpc::Status StreamSampleTokens(
      grpc::ServerContext* context,
      grpc::ServerReaderWriter<v1::SampleTokensResponse, v1::SampleTokensRequest>* stream) override;
  grpc::Status ValidateParams(grpc::ServerContext* context,
                              const v1::ValidateParamsRequest* request,
                              v1::ValidateParamsResponse* response) override;
  grpc::Status GetServerInfo(grpc::ServerContext* context, const v1::GetServerInfoRequest* request,
                             v1::GetServerInfoResponse* response) override;

  // Set before the server starts.
  v1::GetServerInfoResponse info;
  grpc::Status info_status;
  v1::ValidateParamsResponse violations;
  // Answers one message; an error ends the call or stream.
  std::function<grpc::Status(const v1::SampleTokensRequest&, v1::SampleTokensResponse&)> answer;
  // Where the files of `shared_memory` payloads are, which `answer` gets as inline ones. Empty:
  // such a message is UNIMPLEMENTED.
  std::string shm_dir;
  // The advice of a unary call that ends in RESOURCE_EXHAUSTED; 0 is none.
  int retry_after_ms = 0;
  // Ends each stream with this status after so many messages; 0 is never.
  int stream_messages = 0;
  grpc::Status stream_end;

  // Calls, streams, messages and questions for GetServerInfo that came.
  std::atomic<int> calls = 0;
  std::atomic<int> streams = 0;
  std::atomic<int> messages = 0;
  std::atomic<int> infos = 0;
  // Those of them that were `shared_memory` payloads.
  std::atomic<int> shared = 0;

 private:
  grpc::Status Answer(const v1::SampleTokensRequest& request, v1::SampleTokensResponse& response);
};

// A server while it lives.
class FakeServer {
 public:
  FakeServer(FakeService& service, const std::string& address);
  ~FakeServer();

  // For a client; the port is the one that was free.
  const std::string& address() const { return address_; }

 private:
  std::string address_;
  std::unique_ptr<grpc::Server> server_;
};

// Where a directory is in memory, if there is such a place that this user may write to.
std::filesystem::path MemoryFileSystem();

// A directory that goes when it does.
class TempDir {
 public:
  explicit TempDir(const std::filesystem::path& parent = std::filesystem::temp_directory_path());
  ~TempDir();

  std::string path() const { return path_.string(); }
  std::string File(const std::string& name) const { return (path_ / name).string(); }
  // As an address.
  std::string Socket(const std::string& name) const { return "unix:" + File(name); }

 private:
  std::filesystem::path path_;
};

}  // namespace tokendraw

#endif  // TOKENDRAW_TESTS_CLIENT_FAKE_SERVER_H_
