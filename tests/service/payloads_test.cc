// One set of rows, brought in every way that the wire has, must give one answer.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <bit>
#include <cmath>
#include <fstream>
#include <latch>
#include <numeric>
#include <random>

#include "service/dispatcher.h"
#include "tests/service/requests.h"
#include "tests/service/temp_dir.h"

namespace tokendraw {
namespace {

constexpr int32_t kVocab = 5003;
constexpr int32_t kRows = 5;

class PayloadsTest : public ::testing::TestWithParam<v1::DataType> {
 protected:
  PayloadsTest() : shared_memory_(*SharedMemory::Open(dir_.path())) {
    std::mt19937 random(20);
    std::normal_distribution<float> logit(0, 3);
    for (float& x : logits_) x = logit(random);
    logits_[2 * kVocab + 17] = NAN;  // one row is an error
  }

  // A row, as its type can hold it.
  std::vector<float> Whole(int32_t row) const {
    const uint32_t mask = GetParam() == v1::DATA_TYPE_F32 ? 0xffffffff : 0xffff0000;
    std::vector<float> whole;
    for (int32_t id = 0; id < kVocab; ++id) {
      whole.push_back(
          std::bit_cast<float>(std::bit_cast<uint32_t>(logits_[row * kVocab + id]) & mask));
    }
    return whole;
  }

  // Columns [begin, end) of all rows, as bytes; with `padding` columns behind.
  std::string Columns(int32_t begin, int32_t end, int32_t padding = 0) const {
    std::string bytes;
    for (int32_t row = 0; row < kRows; ++row) {
      for (int32_t id = begin; id < end; ++id) Append(logits_[row * kVocab + id], bytes);
      for (int32_t i = 0; i < padding; ++i) Append(1e30f, bytes);
    }
    return bytes;
  }

  void Append(float x, std::string& bytes) const {
    const auto bits = std::bit_cast<uint32_t>(x);
    if (GetParam() == v1::DATA_TYPE_F32) {
      bytes.append(reinterpret_cast<const char*>(&bits), 4);
    } else {
      const uint32_t upper = bits >> 16;
      bytes.append(reinterpret_cast<const char*>(&upper), 2);
    }
  }

  // The rows with a chain of everything; without a payload.
  static v1::SampleTokensRequest Request() {
    v1::SampleTokensRequest request;
    v1::LogitsTensor& logits = *request.mutable_logits();
    logits.set_vocab_size(kVocab);
    logits.set_row_count(kRows);
    logits.set_data_type(GetParam());
    v1::SamplingParams& params = *request.add_params();
    params.set_typical_p(0.9);
    params.set_xtc_probability(0.5);
    params.set_temperature(0.8);
    params.set_top_p(0.95);
    params.set_return_kept(true);
    params.mutable_logprobs()->set_top_count(5);
    for (int32_t row = 0; row < kRows; ++row) {
      v1::RowSpec& spec = *request.add_rows();
      spec.set_seed(100);
      spec.set_position(row);
      spec.set_sample_count(1 + row % 3);
      spec.add_output_ids(row);
    }
    return request;
  }

  v1::SampleTokensResponse Send(const v1::SampleTokensRequest& request, size_t slice_size = 8192) {
    ReceivedRequest received;
    EXPECT_TRUE(received.Read(Serialised(request, slice_size)).ok());
    v1::SampleTokensResponse response;
    std::latch done(1);
    dispatcher_.Dispatch({.request = &received,
                          .response = &response,
                          .cancelled = [] { return false; },
                          .done =
                              [&](const absl::Status& status) {
                                EXPECT_TRUE(status.ok()) << status;
                                done.count_down();
                              }},
                         nullptr);
    done.wait();
    return response;
  }

  v1::SampleTokensResponse SendInline() {
    v1::SampleTokensRequest request = Request();
    request.mutable_logits()->set_inline_(Columns(0, kVocab));
    return Send(request);
  }

  void ExpectSame(const v1::SampleTokensResponse& response) {
    static const int kTokens = 1 + 2 + 3 + 1 + 2;
    const v1::SampleTokensResponse expected = SendInline();
    EXPECT_EQ(expected.token_ids_size(), kTokens);
    EXPECT_EQ(expected.row_errors_size(), 1);
    EXPECT_EQ(response.SerializeAsString(), expected.SerializeAsString())
        << response.ShortDebugString().substr(0, 2000);
  }

  TempDir dir_;
  const std::unique_ptr<SharedMemory> shared_memory_;
  std::vector<float> logits_ = std::vector<float>(kRows * kVocab);
  Metrics metrics_;
  Dispatcher dispatcher_{Options(), 2, shared_memory_.get(), metrics_};
};

TEST_P(PayloadsTest, InlineInFragments) {
  v1::SampleTokensRequest request = Request();
  request.mutable_logits()->set_inline_(Columns(0, kVocab));
  for (const size_t size : {1, 2, 3, 5, 64, 1000, 4096, 16384}) {
    SCOPED_TRACE(size);
    ExpectSame(Send(request, size));
  }
}

TEST_P(PayloadsTest, InlineWithPadding) {
  v1::SampleTokensRequest request = Request();
  request.mutable_logits()->set_row_stride(kVocab + 61);
  request.mutable_logits()->set_inline_(Columns(0, kVocab, 61));
  ExpectSame(Send(request));
}

TEST_P(PayloadsTest, Values) {
  v1::SampleTokensRequest request = Request();
  request.mutable_logits()->set_data_type(v1::DATA_TYPE_F32);
  auto& values = *request.mutable_logits()->mutable_values()->mutable_values();
  for (int32_t row = 0; row < kRows; ++row) {
    const std::vector<float> whole = Whole(row);
    values.Add(whole.begin(), whole.end());
  }
  ExpectSame(Send(request));
}

TEST_P(PayloadsTest, SharedMemory) {
  std::ofstream(dir_.path() + "/rows") << "xyz" << Columns(0, kVocab);
  v1::SampleTokensRequest request = Request();
  request.mutable_logits()->mutable_shared_memory()->set_name("rows");
  request.mutable_logits()->mutable_shared_memory()->set_offset(3);
  ExpectSame(Send(request));
}

// Field case G15: what happens to the file while its message is queued.
TEST_P(PayloadsTest, AFileThatChangesWhileQueued) {
  const std::string path = dir_.path() + "/rows";
  const std::string rows = Columns(0, kVocab);
  v1::SampleTokensRequest request = Request();
  request.mutable_logits()->mutable_shared_memory()->set_name("rows");
  const auto send_and = [&](const std::function<void()>& change) {
    std::filesystem::remove(path);
    std::ofstream(path) << rows;
    Dispatcher one_thread(Options(), 1, shared_memory_.get(), metrics_);
    ReceivedRequest blocker, queued;
    EXPECT_TRUE(blocker.Read(Serialised(ValuesRequest({{1, 2}}))).ok());
    EXPECT_TRUE(queued.Read(Serialised(request)).ok());
    v1::SampleTokensResponse ignored, response;
    std::latch go(1), done(1);
    const auto wanted = [] { return false; };
    one_thread.Dispatch({.request = &blocker,
                         .response = &ignored,
                         .cancelled = wanted,
                         .done = [&](const absl::Status&) { go.wait(); }},
                        nullptr);
    one_thread.Dispatch({.request = &queued,
                         .response = &response,
                         .cancelled = wanted,
                         .done = [&](const absl::Status&) { done.count_down(); }},
                        nullptr);
    change();
    go.count_down();
    done.wait();
    return response;
  };

  ExpectSame(send_and([&] { std::filesystem::remove(path); }));
  ExpectSame(send_and([&] { std::ofstream(path, std::ios::app) << rows; }));
  ExpectSame(send_and([&] {  // another file in its place
    std::ofstream(path + ".new") << std::string(rows.size(), '\0');
    std::filesystem::rename(path + ".new", path);
  }));

  const v1::SampleTokensResponse cut = send_and([&] { std::filesystem::resize_file(path, 0); });
  EXPECT_EQ(cut.row_errors_size(), kRows);
  for (const v1::RowError& error : cut.row_errors()) {
    EXPECT_EQ(error.code(), v1::ROW_ERROR_CODE_UNREADABLE);
  }

  // Rewritten in place before any row is read: the rows are the new ones.
  const v1::SampleTokensResponse rewritten = send_and([&] {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file << std::string(rows.size(), '\0');
  });
  EXPECT_EQ(rewritten.row_errors_size(), 0);
  EXPECT_GT(rewritten.details(0).kept_count(), kVocab / 2) << "all tokens are alike";
}

// Where the vocabulary is cut, and how each part comes.
TEST_P(PayloadsTest, Shards) {
  const std::vector<std::vector<int32_t>> cuts = {
      {0, kVocab},
      {0, 2500, kVocab},
      {0, 1, kVocab},
      {0, kVocab - 1, kVocab},
      {0, 1700, 3400, kVocab},
      {0, 626, 1252, 1878, 2504, 3130, 3756, 4382, kVocab},
      {0, 3, 1000, 1001, 4096, kVocab},
  };
  for (const std::vector<int32_t>& cut : cuts) {
    for (const size_t slice_size : {7, 8192}) {
      SCOPED_TRACE(cut.size());
      v1::SampleTokensRequest request = Request();
      for (size_t i = 0; i + 1 < cut.size(); ++i) {
        v1::VocabularyShard& shard = *request.mutable_logits()->mutable_shards()->add_shards();
        shard.set_offset(cut[i]);
        shard.set_width(cut[i + 1] - cut[i]);
        const int32_t padding = i % 2 == 0 ? 0 : 5;
        if (padding > 0) shard.set_row_stride(shard.width() + padding);
        const std::string bytes = Columns(cut[i], cut[i + 1], padding);
        if (i % 3 < 2) {
          shard.set_inline_(bytes);
          continue;
        }
        const std::string name = "shard" + std::to_string(i);
        std::ofstream(dir_.path() + "/" + name) << bytes;
        shard.mutable_shared_memory()->set_name(name);
      }
      ExpectSame(Send(request, slice_size));
      // Another file for the next cut, as a worker that rewrites one would make.
      for (const auto& file : std::filesystem::directory_iterator(dir_.path())) {
        std::filesystem::remove(file);
      }
    }
  }
}

// The `count` largest of a row, and its sums, from the formulas in logits.proto.
void Reduce(std::span<const float> row, size_t count, v1::CandidateRow& candidates) {
  std::vector<int32_t> ids(row.size());
  std::iota(ids.begin(), ids.end(), 0);
  std::ranges::stable_sort(ids, std::greater(), [&](int32_t id) { return row[id]; });
  const float max = row[ids[0]];
  ids.resize(count);
  std::ranges::sort(ids);
  for (const int32_t id : ids) {
    candidates.add_ids(id);
    candidates.add_logits(row[id]);
  }
  double exp = 0, weighted = 0, squared = 0;
  for (const double x : row) {
    const double e = std::exp(x - max);
    exp += e;
    weighted += e * (x - max);
    squared += e * e;
  }
  candidates.set_log_sum_exp(max + std::log(exp));
  candidates.set_mean_logit(max + weighted / exp);
  candidates.set_sum_squared_probability(squared / exp / exp);
}

TEST_P(PayloadsTest, CandidatesWhereTheyDecide) {
  const v1::SampleTokensResponse expected = SendInline();
  v1::SampleTokensRequest request = Request();
  request.mutable_logits()->set_data_type(v1::DATA_TYPE_F32);
  auto& rows = *request.mutable_logits()->mutable_candidates();
  for (int32_t row = 0; row < kRows; ++row) {
    if (row == 2) {  // the one with NaN
      rows.add_rows()->add_ids(17);
      rows.mutable_rows(2)->add_logits(NAN);
    } else {
      Reduce(Whole(row), 2500, *rows.add_rows());
    }
  }
  const v1::SampleTokensResponse response = Send(request);
  EXPECT_THAT(response.token_ids(), testing::ElementsAreArray(expected.token_ids()));
  ASSERT_EQ(response.row_errors_size(), 1) << response.row_errors(0).ShortDebugString();
  EXPECT_EQ(response.row_errors(0).SerializeAsString(), expected.row_errors(0).SerializeAsString());
  ASSERT_EQ(response.details_size(), expected.details_size());
  for (int i = 0; i < expected.details_size(); ++i) {
    const v1::RowDetail& a = response.details(i);
    const v1::RowDetail& b = expected.details(i);
    EXPECT_THAT(a.kept_ids(), testing::ElementsAreArray(b.kept_ids()));
    EXPECT_NEAR(a.logprob(), b.logprob(), 1e-5);
    EXPECT_NEAR(a.kept_mass(), b.kept_mass(), 1e-5);
    EXPECT_EQ(a.xtc_applied(), b.xtc_applied());
  }
}

INSTANTIATE_TEST_SUITE_P(, PayloadsTest, ::testing::Values(v1::DATA_TYPE_F32, v1::DATA_TYPE_BF16),
                         [](const auto& info) { return v1::DataType_Name(info.param); });

}  // namespace
}  // namespace tokendraw
