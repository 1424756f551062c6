// Any bytes as a stream of messages: each is received, in slices of any size, as protobuf parses it
// whole, and checked without a crash. The reader is used again for the next message, as a stream
// does it; the first message stands for a unary call.
#include <fuzzer/FuzzedDataProvider.h>
#include <google/protobuf/stubs/logging.h>

#include <cstdlib>
#include <fstream>

#include "service/shared_memory.h"
#include "tests/service/requests.h"
#include "tests/service/temp_dir.h"

namespace tokendraw {
namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

grpc::ByteBuffer Slice(const std::string& bytes, FuzzedDataProvider& data) {
  std::vector<grpc::Slice> slices;
  for (size_t at = 0; at < bytes.size();) {
    const size_t most = std::min<size_t>(bytes.size() - at, 300);
    const size_t size = data.ConsumeIntegralInRange<size_t>(1, most);
    slices.emplace_back(bytes.data() + at, size);
    at += size;
  }
  return {slices.data(), slices.size()};
}

void ReadAndCheck(const std::string& bytes, FuzzedDataProvider& data, SharedMemory* shared_memory,
                  ReceivedRequest& received) {
  v1::SampleTokensRequest parsed;
  const bool is_message = parsed.ParseFromString(bytes);
  Require(received.Read(Slice(bytes, data)).ok() == is_message);
  if (!is_message) return;
  Require(WithInline(received).SerializeAsString() == parsed.SerializeAsString());

  const MessageLimits limits = {.max_rows = 64, .max_draws = 1000, .max_shared_bytes = 1 << 20};
  const absl::StatusOr<Batch> batch = ConvertRequest(received, limits, shared_memory);
  if (!batch.ok()) {
    Require(!batch.status().message().empty());
    return;
  }
  Require(batch->rows.size() == static_cast<size_t>(parsed.logits().row_count()));
  RowRoom room;
  for (size_t row = 0; row < batch->rows.size(); ++row) {
    if (batch->rows[row].input.candidates) continue;
    const auto pieces = batch->tensor.Row(row, room);
    if (pieces.empty()) continue;  // its file is gone
    std::vector<std::byte> copy;   // all of it can be read
    for (const auto& piece : pieces) copy.insert(copy.end(), piece.begin(), piece.end());
    Require(copy.size() ==
            static_cast<size_t>(batch->vocab_size) * sampling::ElementSize(batch->data_type));
  }
}

// A directory with a file called "rows".
std::unique_ptr<SharedMemory> OpenDirectory() {
  google::protobuf::SetLogHandler(nullptr);
  static const TempDir directory;
  std::ofstream(directory.path() + "/rows") << std::string(4096, '\0');
  auto opened = SharedMemory::Open(directory.path());
  Require(opened.ok());
  return *std::move(opened);
}

}  // namespace
}  // namespace tokendraw

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  static const std::unique_ptr<tokendraw::SharedMemory> shared_memory = tokendraw::OpenDirectory();
  FuzzedDataProvider data(bytes, size);
  tokendraw::ReceivedRequest received;
  for (int message = 0; message < 3; ++message) {
    const std::string request = data.ConsumeRandomLengthString();
    tokendraw::ReadAndCheck(request, data, shared_memory.get(), received);
  }
  return 0;
}
