#include "service/shared_memory.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <limits>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "tests/service/running_server.h"

namespace tokendraw {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

class SharedMemoryTest : public testing::Test {
 protected:
  SharedMemoryTest() : shared_memory_(*SharedMemory::Open(dir_.path())) {}

  std::string PathOf(const std::string& name) const { return dir_.path() + "/" + name; }

  void Write(const std::string& name, const std::string& bytes) const {
    std::ofstream(PathOf(name), std::ios::binary) << bytes;
  }

  // What is wrong, or nothing.
  std::string Fault(const std::string& name, int64_t offset = 0, int64_t bytes = 1) {
    Violations violations;
    const bool mapped =
        shared_memory_->Map(name, offset, bytes, "logits.shared_memory", violations) != nullptr;
    EXPECT_EQ(mapped, violations.count() == 0);
    return std::string(violations.ToStatus().message());
  }

  std::string Read(const std::string& name) {
    Violations violations;
    const auto size = static_cast<int64_t>(std::filesystem::file_size(PathOf(name)));
    const auto mapping = shared_memory_->Map(name, 0, size, "logits.shared_memory", violations);
    if (mapping == nullptr) return "";
    return {reinterpret_cast<const char*>(mapping->bytes().data()), mapping->bytes().size()};
  }

  TempDir dir_;
  std::unique_ptr<SharedMemory> shared_memory_;
};

TEST_F(SharedMemoryTest, MapsAFile) {
  Write("rows", "abcdef");
  EXPECT_EQ(Read("rows"), "abcdef");
  EXPECT_EQ(Fault("rows", 0, 6), "");
  EXPECT_EQ(Fault("rows", 5, 1), "");
}

TEST_F(SharedMemoryTest, NamesArePlain) {
  Write("rows", "abcdef");
  std::filesystem::create_directory(PathOf("sub"));
  Write("sub/rows", "abcdef");
  for (const std::string& name :
       {std::string(), std::string("."), std::string(".."), std::string("/etc/passwd"),
        std::string("sub/rows"), std::string("../rows"), std::string("./rows"),
        std::string("rows\0", 5), std::string("rows\0x", 6), std::string(256, 'x'),
        std::string(4096, 'x')}) {
    EXPECT_THAT(Fault(name), StartsWith("logits.shared_memory.name: name must be a plain"));
  }
  EXPECT_THAT(Fault(std::string(255, 'x')), HasSubstr("cannot open the file: No such file"));
  EXPECT_THAT(Fault("Rows"), HasSubstr("cannot open the file: No such file"));
}

TEST_F(SharedMemoryTest, OnlyRegularFiles) {
  Write("rows", "abcdef");
  std::filesystem::create_symlink(PathOf("rows"), PathOf("link"));
  std::filesystem::create_symlink("nowhere", PathOf("dangling"));
  std::filesystem::create_directory(PathOf("directory"));
  ASSERT_EQ(mkfifo(PathOf("pipe").c_str(), 0600), 0);
  EXPECT_THAT(Fault("link"), HasSubstr("symbolic link"));
  EXPECT_THAT(Fault("dangling"), HasSubstr("symbolic link"));
  EXPECT_THAT(Fault("directory"), HasSubstr("name must be that of a regular file"));
  EXPECT_THAT(Fault("pipe"), HasSubstr("name must be that of a regular file"));
  if (mknod(PathOf("device").c_str(), S_IFCHR | 0600, makedev(1, 5)) == 0) {  // root only
    EXPECT_THAT(Fault("device"),
                testing::AnyOf(HasSubstr("regular file"), HasSubstr("cannot open")));
  }
}

TEST_F(SharedMemoryTest, OnlyFilesOfTheOwner) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  Write("rows", "abcdef");
  ASSERT_EQ(chown(PathOf("rows").c_str(), 12345, 12345), 0);
  EXPECT_THAT(Fault("rows"), HasSubstr("the file must belong to the server's user"));
  ASSERT_EQ(chown(dir_.path().c_str(), 12345, 12345), 0);
  shared_memory_ = *SharedMemory::Open(dir_.path());
  EXPECT_EQ(Fault("rows"), "");
}

TEST_F(SharedMemoryTest, RangesDoNotOverflow) {
  Write("rows", "abcdef");
  struct Range {
    int64_t offset, bytes;
  };
  for (const Range& range : {Range{0, 7},
                             {6, 1},
                             {7, 1},
                             {-1, 1},
                             {kMost, 1},
                             {kMost, kMost},
                             {1, kMost},
                             {0, kMost},
                             {std::numeric_limits<int64_t>::min(), 1},
                             {int64_t{1} << 32, 1},
                             {1, int64_t{1} << 32},
                             {(int64_t{1} << 31) - 1, 1},
                             {4294967295, 4294967297}}) {
    const std::string fault = Fault("rows", range.offset, range.bytes);
    EXPECT_THAT(fault, StartsWith("logits.shared_memory.offset: expected "));
    EXPECT_THAT(fault, HasSubstr("the file has 6 bytes"));
  }
}

TEST_F(SharedMemoryTest, SeesWhatIsWrittenAndWhatReplacesAFile) {
  Write("rows", "first");
  EXPECT_EQ(Read("rows"), "first");
  {
    std::fstream file(PathOf("rows"), std::ios::binary | std::ios::in | std::ios::out);
    file << "FIRST";
  }
  EXPECT_EQ(Read("rows"), "FIRST");
  EXPECT_EQ(shared_memory_->mapped(), 1u);
  Write("rows", "longer than before");
  EXPECT_EQ(Read("rows"), "longer than before");
  std::filesystem::remove(PathOf("rows"));
  EXPECT_THAT(Fault("rows"), HasSubstr("No such file"));
  Write("rows", "another");
  EXPECT_EQ(Read("rows"), "another");
  EXPECT_EQ(shared_memory_->mapped(), 1u);
}

TEST_F(SharedMemoryTest, RemovedFilesAreLetGo) {
  for (int i = 0; i < 2000; ++i) {
    const std::string name = "rows" + std::to_string(i);
    Write(name, name);
    ASSERT_EQ(Read(name), name);
    std::filesystem::remove(PathOf(name));
    ASSERT_LE(shared_memory_->mapped(), 1u);
  }
  EXPECT_TRUE(std::filesystem::is_empty(dir_.path()));
}

TEST_F(SharedMemoryTest, AMappingOutlivesItsFileWhileItIsUsed) {
  Write("rows", "abcdef");
  Violations violations;
  const auto mapping = shared_memory_->Map("rows", 0, 6, "logits.shared_memory", violations);
  std::filesystem::remove(PathOf("rows"));
  Write("other", "x");
  EXPECT_EQ(Read("other"), "x");
  EXPECT_EQ(static_cast<char>(mapping->bytes()[5]), 'f');
}

TEST_F(SharedMemoryTest, RemovedFilesAreLetGoWhileNoNewOnesCome) {
  Write("steady", "steady");
  for (int i = 0; i < 10; ++i) {
    const std::string name = "rows" + std::to_string(i);
    Write(name, name);
    ASSERT_EQ(Read(name), name);
  }
  for (int i = 0; i < 10; ++i) std::filesystem::remove(PathOf("rows" + std::to_string(i)));
  for (int64_t i = 0; i < SharedMemory::kMapsPerLook; ++i) ASSERT_EQ(Read("steady"), "steady");
  EXPECT_EQ(shared_memory_->mapped(), 1u);
}

TEST_F(SharedMemoryTest, TheNumberOfMappingsIsBounded) {
  for (int i = 0; i < 400; ++i) {
    const std::string name = "rows" + std::to_string(i);
    Write(name, name);
    ASSERT_EQ(Read(name), name);
    ASSERT_LE(shared_memory_->mapped(), 256u);
  }
  EXPECT_EQ(Read("rows0"), "rows0");
}

TEST(SharedMemoryOpenTest, NeedsADirectory) {
  TempDir dir;
  for (const std::string& path :
       {dir.path() + "/none", std::string("/etc/passwd"), std::string()}) {
    const absl::Status status = SharedMemory::Open(path).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), StartsWith("--shm_dir: cannot open directory '"));
  }
  Options options;
  options.shm_dir = dir.path() + "/none";
  options.listen = {"unix:" + dir.path() + "/s"};
  EXPECT_EQ(Server::Start(options, QuietLog()).status().code(), absl::StatusCode::kInvalidArgument);
}

// Through a real server.
class SharedRowsTest : public testing::Test {
 protected:
  static Options WithSharedMemory(const std::string& path) {
    Options options;
    options.shm_dir = path;
    options.threads = 2;
    return options;
  }

  SharedRowsTest() : server_(WithSharedMemory(dir_.path())), stub_(server_.NewStub()) {}

  v1::SampleTokensResponse Sample(const v1::SampleTokensRequest& request) {
    grpc::ClientContext context;
    v1::SampleTokensResponse response;
    const grpc::Status status = stub_->SampleTokens(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }

  // Rows of N(0, 3) as bytes.
  static v1::SampleTokensRequest InlineRows(int32_t rows, int32_t vocab_size) {
    v1::SampleTokensRequest request;
    v1::LogitsTensor& logits = *request.mutable_logits();
    logits.set_vocab_size(vocab_size);
    logits.set_row_count(rows);
    logits.set_data_type(v1::DATA_TYPE_F32);
    uint64_t bits = 1;
    std::vector<float> values(static_cast<size_t>(rows) * static_cast<size_t>(vocab_size));
    for (float& value : values) {
      bits = bits * 6364136223846793005 + 1442695040888963407;
      value = static_cast<float>(bits >> 40) * 0x1p-20f - 8;
    }
    logits.set_inline_(values.data(), values.size() * sizeof(float));
    request.add_params()->set_typical_p(0.9);
    request.mutable_params(0)->mutable_logprobs()->set_top_count(3);
    for (int32_t row = 0; row < rows; ++row) {
      request.add_rows()->set_seed(static_cast<uint64_t>(row));
    }
    return request;
  }

  // The same with the rows in a file, from `offset` on.
  v1::SampleTokensRequest Shared(v1::SampleTokensRequest request, int64_t offset) const {
    std::ofstream(dir_.path() + "/rows", std::ios::binary)
        << std::string(static_cast<size_t>(offset), 'x') << request.logits().inline_();
    v1::SharedMemory& place = *request.mutable_logits()->mutable_shared_memory();
    place.set_name("rows");
    place.set_offset(offset);
    return request;
  }

  TempDir dir_;
  RunningServer server_;
  std::unique_ptr<v1::SamplingService::Stub> stub_;
};

TEST_F(SharedRowsTest, GiveWhatInlineRowsGive) {
  for (const int32_t vocab_size : {1, 300, 9000}) {
    const v1::SampleTokensRequest request = InlineRows(5, vocab_size);
    const std::string expected = Sample(request).SerializeAsString();
    for (const int64_t offset : {0, 3, 4, 64, 5000}) {
      EXPECT_EQ(Sample(Shared(request, offset)).SerializeAsString(), expected)
          << vocab_size << " " << offset;
    }
  }
}

TEST_F(SharedRowsTest, TheServerSaysThatItTakesThem) {
  grpc::ClientContext context;
  v1::GetServerInfoResponse info;
  ASSERT_TRUE(stub_->GetServerInfo(&context, {}, &info).ok());
  EXPECT_TRUE(info.shared_memory());
}

TEST_F(SharedRowsTest, AFaultIsInvalidArgument) {
  v1::SampleTokensRequest request = Shared(InlineRows(5, 300), 0);
  request.mutable_logits()->mutable_shared_memory()->set_offset(1);
  grpc::ClientContext context;
  v1::SampleTokensResponse response;
  const grpc::Status status = stub_->SampleTokens(&context, request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(status.error_message(),
            "logits.shared_memory.offset: expected 6000 bytes from offset 1 on, the file has 6000 "
            "bytes");
}

// The file is cut again and again while it is read: rows are answered, or named as unreadable, and
// the server lives.
TEST_F(SharedRowsTest, AFileThatShrinksIsARowError) {
  constexpr int32_t kRows = 16, kVocab = 20000;
  const v1::SampleTokensRequest request = Shared(InlineRows(kRows, kVocab), 0);
  const v1::SampleTokensResponse whole = Sample(request);
  const std::string path = dir_.path() + "/rows";
  const std::string bytes = InlineRows(kRows, kVocab).logits().inline_();
  std::atomic<bool> stop = false;
  std::thread writer([&] {
    while (!stop) {
      EXPECT_EQ(truncate(path.c_str(), 0), 0);
      std::fstream(path, std::ios::binary | std::ios::in | std::ios::out) << bytes;
      absl::SleepFor(absl::Microseconds(200));
    }
  });
  int unreadable = 0, answered = 0;
  for (int i = 0; i < 20000 && (unreadable == 0 || answered == 0); ++i) {
    grpc::ClientContext context;
    v1::SampleTokensResponse response;
    const grpc::Status status = stub_->SampleTokens(&context, request, &response);
    if (!status.ok()) {  // it was short when it was opened
      EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
      continue;
    }
    ASSERT_EQ(response.token_ids_size(), kRows);
    for (const v1::RowError& error : response.row_errors()) {
      EXPECT_EQ(error.code(), v1::ROW_ERROR_CODE_UNREADABLE);
      EXPECT_EQ(error.token_id(), -1);
      EXPECT_EQ(response.token_ids(error.row()), -1);
    }
    unreadable += response.row_errors_size();
    answered += kRows - response.row_errors_size();
  }
  stop = true;
  writer.join();
  EXPECT_GT(unreadable, 0);
  EXPECT_GT(answered, 0);
  EXPECT_TRUE(Sample(request).SerializeAsString() == whole.SerializeAsString());
}

TEST_F(SharedRowsTest, ATensorOverTheLimitIsNamed) {
  v1::SampleTokensRequest request;
  v1::LogitsTensor& logits = *request.mutable_logits();
  logits.set_vocab_size(1 << 30);
  logits.set_row_count(1);
  logits.set_data_type(v1::DATA_TYPE_F32);
  logits.mutable_shared_memory()->set_name("sparse");
  const std::string path = dir_.path() + "/sparse";
  std::ofstream(path).close();
  ASSERT_EQ(truncate(path.c_str(), int64_t{1} << 33), 0);
  grpc::ClientContext context;
  v1::SampleTokensResponse response;
  const grpc::Status status = stub_->SampleTokens(&context, request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(status.error_message(),
            "logits.shared_memory: 4294967296 bytes are over max_queued_bytes 536870912");
}

}  // namespace
}  // namespace tokendraw
