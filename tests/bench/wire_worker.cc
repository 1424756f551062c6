// A worker to measure with. For each line "N" on stdin it makes N round trips, one after the other,
// and prints their times in microseconds on one line.
// Usage: wire_worker KIND F32|BF16 ROWS ADDRESS [SHM_DIR]
//   inline, shared_memory, candidates  through the client library
//   small                              the smallest request, for what a round trip costs
//   echo, obvious                      to wire_peer: bytes of the same size, or a plain client
//   chain                              no server: the rows on ADDRESS (a number of) threads
#include <grpcpp/create_channel_posix.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iostream>
#include <latch>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "client/candidates.h"
#include "client/client.h"
#include "client/memory.h"
#include "client/unix_socket.h"
#include "service/row_pool.h"
#include "tests/bench/rows.h"
#include "tests/bench/wire_case.h"
#include "tokendraw/v1/sampling.grpc.pb.h"

namespace tokendraw::bench {
namespace {

constexpr int32_t kCandidates = 256;

struct Case {
  std::string kind;
  v1::DataType type;
  int32_t rows;
  std::string address;
  std::string shm_dir;

  size_t row_bytes() const { return size_t{kWireVocab} * (type == v1::DATA_TYPE_F32 ? 4 : 2); }
  size_t bytes() const { return row_bytes() * static_cast<size_t>(rows); }
};

void Check(const absl::Status& status) {
  if (status.ok()) return;
  std::cerr << "wire_worker: " << status << "\n";
  std::exit(1);
}

// The rows, in the type of the case. `bytes` has room for them.
void FillRows(const Case& c, std::span<std::byte> bytes) {
  const RowSet rows(RowKind::kPeaked, kWireVocab);
  std::byte* to = bytes.data();
  for (int32_t row = 0; row < c.rows; ++row) {
    for (const float logit : rows.row(static_cast<size_t>(row))) {
      const size_t size = c.type == v1::DATA_TYPE_F32 ? 4 : 2;
      // The upper half of a little-endian float is its BF16.
      std::memcpy(to, reinterpret_cast<const std::byte*>(&logit) + (4 - size), size);
      to += size;
    }
  }
}

v1::SampleTokensRequest Request(const Case& c) {
  v1::SampleTokensRequest request;
  request.mutable_logits()->set_vocab_size(kWireVocab);
  request.mutable_logits()->set_row_count(c.rows);
  request.mutable_logits()->set_data_type(c.type);
  *request.add_params() = WireParams();
  for (int32_t row = 0; row < c.rows; ++row) {
    request.add_rows()->set_seed(1);
    request.mutable_rows(row)->set_position(row);
  }
  return request;
}

using RoundTrip = std::function<void()>;

RoundTrip OverClient(const Case& c) {
  KeepFreedMemory();
  auto client = Client::Create({.addresses = {c.address}, .shm_dir = c.shm_dir});
  Check(client.status());
  std::shared_ptr<SampleStream> stream = (*client)->OpenStream();
  auto request = std::make_shared<v1::SampleTokensRequest>(Request(c));
  Rows rows;
  if (c.kind == "small") {
    request->clear_params();
    request->clear_rows();
    request->mutable_logits()->set_vocab_size(1);
    request->mutable_logits()->set_row_count(1);
    request->mutable_logits()->mutable_values()->add_values(0);
  } else if (c.kind == "candidates") {
    std::vector<std::byte> whole(c.bytes());
    FillRows(c, whole);
    SetCandidates(whole, c.type, kWireVocab, c.rows, 0, kCandidates, *request->mutable_logits());
  } else {
    auto buffer = (*client)->CreateRowBuffer(c.bytes());
    Check(buffer.status());
    FillRows(c, (*buffer)->bytes());
    rows.buffer = *buffer;
  }
  return [=] {
    const auto response = stream->Step(*request, rows);
    Check(response.status());
    if (response->row_errors_size() > 0) {
      Check(absl::InternalError(response->row_errors(0).message()));
    }
  };
}

// As the client library connects.
std::shared_ptr<grpc::Channel> NewChannel(const std::string& address) {
  const std::optional<std::string> path = UnixPath(address);
  if (!path) return grpc::CreateChannel(address, grpc::InsecureChannelCredentials());
  const absl::StatusOr<int> socket = ConnectUnixSocket(*path);
  Check(socket.status());
  return grpc::CreateInsecureChannelFromFd("localhost", *socket);
}

RoundTrip OverEcho(const Case& c) {
  KeepFreedMemory();
  struct State {
    grpc::CompletionQueue queue;
    std::shared_ptr<grpc::Channel> channel;
    grpc::ClientContext context;
    std::unique_ptr<grpc::GenericClientAsyncReaderWriter> stream;
    std::vector<std::byte> bytes;

    void Await() {
      void* tag;
      bool ok = false;
      if (!queue.Next(&tag, &ok) || !ok) Check(absl::UnavailableError("the stream broke"));
    }
  };
  const auto state = std::make_shared<State>();
  state->channel = NewChannel(c.address);
  grpc::GenericStub stub(state->channel);
  state->stream = stub.PrepareCall(
      &state->context, "/tokendraw.v1.SamplingService/StreamSampleTokens", &state->queue);
  state->stream->StartCall(nullptr);
  state->Await();
  state->bytes.resize(c.bytes());
  FillRows(c, state->bytes);
  return [state] {
    const grpc::Slice slice(state->bytes.data(), state->bytes.size(), grpc::Slice::STATIC_SLICE);
    state->stream->Write(grpc::ByteBuffer(&slice, 1), nullptr);
    state->Await();
    grpc::ByteBuffer reply;
    state->stream->Read(&reply, nullptr);
    state->Await();
  };
}

RoundTrip OverPlainClient(const Case& c) {
  struct State {
    std::shared_ptr<grpc::Channel> channel;
    std::unique_ptr<v1::SamplingService::Stub> stub;
    grpc::ClientContext context;
    std::unique_ptr<grpc::ClientReaderWriter<v1::SampleTokensRequest, v1::SampleTokensResponse>>
        stream;
    std::vector<std::byte> bytes;
  };
  const auto state = std::make_shared<State>();
  state->channel = grpc::CreateChannel(c.address, grpc::InsecureChannelCredentials());
  state->stub = v1::SamplingService::NewStub(state->channel);
  state->stream = state->stub->StreamSampleTokens(&state->context);
  state->bytes.resize(c.bytes());
  FillRows(c, state->bytes);
  return [state, c] {
    v1::SampleTokensRequest request = Request(c);
    SetInlineLogits(state->bytes, c.type, kWireVocab, c.rows, *request.mutable_logits());
    v1::SampleTokensResponse response;
    if (!state->stream->Write(request) || !state->stream->Read(&response) ||
        response.token_ids_size() != c.rows) {
      Check(absl::UnavailableError("the stream broke"));
    }
  };
}

// The rows, sampled by the threads of a pool.
class ChainJob final : public RowJob {
 public:
  ChainJob(const Case& c, std::span<const std::byte> bytes)
      : case_(c), bytes_(bytes), results_(static_cast<size_t>(c.rows)) {}
  int32_t row_count() const override { return case_.rows; }
  bool Wanted() override { return true; }
  void ComputeRow(int32_t row, RowWorker& worker) override {
    static const sampling::Params kParams = WireChain();
    const bool is_f32 = case_.type == v1::DATA_TYPE_F32;
    const sampling::LogitsRow logits = {
        .data = bytes_.data() + case_.row_bytes() * static_cast<size_t>(row),
        .type = is_f32 ? sampling::DataType::kF32 : sampling::DataType::kBF16,
        .vocab_size = kWireVocab};
    worker.sampler.Sample(
        kParams, {.logits = logits, .key = {.seed = 1, .position = static_cast<uint64_t>(row)}},
        results_[static_cast<size_t>(row)]);
  }
  void Done(bool) override { done.count_down(); }

  std::latch done{1};

 private:
  const Case& case_;
  const std::span<const std::byte> bytes_;
  std::vector<sampling::RowResult> results_;
};

RoundTrip OnThreads(const Case& c) {
  auto bytes = std::make_shared<std::vector<std::byte>>(c.bytes());
  FillRows(c, *bytes);
  if (c.rows == 1) {  // the service does not hand over a single row, either
    auto worker = std::make_shared<RowWorker>();
    return [=, &c] {
      ChainJob job(c, *bytes);
      RunHere(job, *worker);
    };
  }
  auto pool = std::make_shared<RowPool>(std::atoi(c.address.c_str()));
  return [=, &c] {
    const auto job = std::make_shared<ChainJob>(c, *bytes);
    pool->Submit(job);
    job->done.wait();
  };
}

RoundTrip Make(const Case& c) {
  if (c.kind == "chain") return OnThreads(c);
  if (c.kind == "echo") return OverEcho(c);
  if (c.kind == "obvious") return OverPlainClient(c);
  return OverClient(c);
}

void Serve(const RoundTrip& round_trip) {
  round_trip();
  std::puts("ready");
  std::fflush(stdout);
  for (int count; std::cin >> count;) {
    for (int i = 0; i < count; ++i) {
      const auto start = std::chrono::steady_clock::now();
      round_trip();
      const std::chrono::duration<double, std::micro> took =
          std::chrono::steady_clock::now() - start;
      std::printf("%.1f ", took.count());
    }
    std::puts("");
    std::fflush(stdout);
  }
}

}  // namespace
}  // namespace tokendraw::bench

int main(int argc, char** argv) {
  if (argc < 5) {
    std::fputs("usage: wire_worker KIND F32|BF16 ROWS ADDRESS [SHM_DIR]\n", stderr);
    return 2;
  }
  const tokendraw::bench::Case c = {
      .kind = argv[1],
      .type = std::string(argv[2]) == "F32" ? tokendraw::v1::DATA_TYPE_F32
                                            : tokendraw::v1::DATA_TYPE_BF16,
      .rows = std::atoi(argv[3]),
      .address = argv[4],
      .shm_dir = argc > 5 ? argv[5] : ""};
  tokendraw::bench::Serve(tokendraw::bench::Make(c));
  return 0;
}
