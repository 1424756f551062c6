// Servers to measure the service beside, on one stream each. Prints where, once it serves.
// Usage: wire_peer echo|obvious ADDRESS THREADS
//   echo     takes raw bytes, reads each once, and answers with a few: what moving them costs
//   obvious  the service as one would write it first: `bytes` parsed by protobuf, callbacks, the
//            allocator as it is; the rows are computed by the same sampler on as many threads
#include <grpcpp/grpcpp.h>
#include <malloc.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "service/row_pool.h"
#include "tests/bench/wire_case.h"
#include "tokendraw/v1/sampling.grpc.pb.h"

namespace tokendraw::bench {
namespace {

using EchoService =
    v1::SamplingService::WithRawMethod_StreamSampleTokens<v1::SamplingService::Service>;

// One byte of each cache line.
uint64_t ReadOnce(const grpc::ByteBuffer& bytes) {
  constexpr size_t kLine = 64;
  std::vector<grpc::Slice> slices;
  (void)bytes.Dump(&slices);
  uint64_t sum = 0;
  for (const grpc::Slice& slice : slices) {
    for (size_t i = 0; i < slice.size(); i += kLine) sum += slice.begin()[i];
  }
  return sum;
}

// Serves one stream after the other, as the service does it: on one completion queue.
void ServeEcho(grpc::ServerBuilder& builder, const std::function<void()>& started) {
  EchoService service;
  builder.RegisterService(&service);
  const auto queue = builder.AddCompletionQueue();
  const auto server = builder.BuildAndStart();
  started();
  const auto await = [&] {
    void* tag;
    bool ok = false;
    return queue->Next(&tag, &ok) && ok;
  };
  while (true) {
    grpc::ServerContext context;
    grpc::ServerAsyncReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer> stream(&context);
    service.RequestStreamSampleTokens(&context, &stream, queue.get(), queue.get(), nullptr);
    if (!await()) return;
    while (true) {
      grpc::ByteBuffer bytes;
      stream.Read(&bytes, nullptr);
      if (!await()) break;
      const uint64_t sum = ReadOnce(bytes);
      const grpc::Slice reply(&sum, sizeof(sum));
      stream.Write(grpc::ByteBuffer(&reply, 1), nullptr);
      if (!await()) break;
    }
    stream.Finish(grpc::Status::OK, nullptr);
    (void)await();
  }
}

class ObviousStream final
    : public grpc::ServerBidiReactor<v1::SampleTokensRequest, v1::SampleTokensResponse> {
 public:
  explicit ObviousStream(RowPool& pool) : pool_(pool) { StartRead(&request_); }

  void OnReadDone(bool ok) override {
    if (!ok) return Finish(grpc::Status::OK);
    response_.Clear();
    pool_.Submit(std::make_shared<Job>(*this));
  }
  void OnWriteDone(bool ok) override {
    if (ok) StartRead(&request_);
  }
  void OnDone() override { delete this; }

 private:
  class Job final : public RowJob {
   public:
    explicit Job(ObviousStream& stream)
        : stream_(stream), results_(static_cast<size_t>(row_count())) {}
    int32_t row_count() const override { return stream_.request_.logits().row_count(); }
    bool Wanted() override { return true; }
    void ComputeRow(int32_t row, RowWorker& worker) override {
      const v1::LogitsTensor& logits = stream_.request_.logits();
      const char* data = logits.inline_().data() + size_t{4} * logits.vocab_size() * row;
      worker.sampler.Sample(WireChain(),
                            {.logits = {.data = data, .vocab_size = logits.vocab_size()}},
                            results_[static_cast<size_t>(row)]);
    }
    void Done(bool) override {
      for (const sampling::RowResult& result : results_) {
        stream_.response_.add_token_ids(result.draws[0].token_id);
      }
      stream_.StartWrite(&stream_.response_);
    }

   private:
    ObviousStream& stream_;
    std::vector<sampling::RowResult> results_;
  };

  RowPool& pool_;
  v1::SampleTokensRequest request_;
  v1::SampleTokensResponse response_;
};

class ObviousService final : public v1::SamplingService::CallbackService {
 public:
  explicit ObviousService(int threads) : pool_(threads) {}
  grpc::ServerBidiReactor<v1::SampleTokensRequest, v1::SampleTokensResponse>* StreamSampleTokens(
      grpc::CallbackServerContext*) override {
    return new ObviousStream(pool_);
  }

 private:
  RowPool pool_;
};

int Main(const std::string& kind, const std::string& address, int threads) {
  grpc::ServerBuilder builder;
  builder.SetMaxReceiveMessageSize(-1);
  int port = 0;
  builder.AddListeningPort(address, grpc::InsecureServerCredentials(), &port);
  const auto started = [&] {
    std::printf("serving on 127.0.0.1:%d\n", port);
    std::fflush(stdout);
  };
  if (kind == "echo") {
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
    ServeEcho(builder, started);
    return 0;
  }
  ObviousService service(threads);
  builder.RegisterService(&service);
  const auto server = builder.BuildAndStart();
  started();
  server->Wait();
  return 0;
}

}  // namespace
}  // namespace tokendraw::bench

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fputs("usage: wire_peer echo|obvious ADDRESS THREADS\n", stderr);
    return 2;
  }
  return tokendraw::bench::Main(argv[1], argv[2], std::atoi(argv[3]));
}
