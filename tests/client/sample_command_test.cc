#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/client/fake_server.h"
#include "tests/client/files.h"
#include "tests/client/process.h"

namespace tokendraw {
namespace {

using ::testing::HasSubstr;

class SampleCommandTest : public testing::Test {
 protected:
  SampleCommandTest() {
    service_.answer = [this](const v1::SampleTokensRequest& request,
                             v1::SampleTokensResponse& response) {
      requests_.push_back(request);
      response = FakeAnswer(request);
      return grpc::Status::OK;
    };
  }

  Finished Sample(std::vector<std::string> words, const std::string& input = "") {
    words.insert(words.begin(), {TOKENDRAW, "sample", "--server", server_.address()});
    return RunProgram(words, input);
  }

  const TempDir dir_;
  std::vector<v1::SampleTokensRequest> requests_;
  FakeService service_;
  const FakeServer server_{service_, "127.0.0.1:0"};
};

TEST_F(SampleCommandTest, PrintsATable) {
  const std::string vocab = WriteFile(dir_.File("v"), R"([" Paris", "a\nb", "\u65e5"])");
  const Finished run =
      Sample({"--vocab", vocab, "--xtc_probability=0.5"}, "[[3, 2, 1], [1, 3, 2], [1, 2, 3]]");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.out,
            "row  token  text      logprob  kept  xtc\n"
            "  0      0  \" Paris\"  -0.2500     3  yes\n"
            "  1      1  \"a\\nb\"    -0.2500     3  yes\n"
            "  2      2  \"\xe6\x97\xa5\"      -0.2500     3  yes\n");
}

TEST_F(SampleCommandTest, ColumnsThatWereAskedForAppear) {
  const Finished run = Sample({"--sample_count=2", "--top_k=1", "--top_count=1"}, "[1, 5, 3]");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.out,
            "row  draw  token  logprob  kept  xtc  greedy  top\n"
            "  0     0      1  -0.2500     3  no   yes     1:-0.2500\n"
            "  0     1      1  -0.2500     3  no   yes     1:-0.2500\n");
}

TEST_F(SampleCommandTest, RowErrorsAreLinesAndExitThree) {
  const Finished run = Sample({"--rows", "1-2"}, R"([[1, 2], [1, "nan"], [2, 1]])");
  EXPECT_EQ(run.exit_code, 3) << run.err;
  EXPECT_EQ(run.out,
            "row  token  logprob  kept  xtc\n"
            "  2      0  -0.2500     2  no\n"
            "row 1: NOT_FINITE: not finite\n");
}

TEST_F(SampleCommandTest, PrintsJson) {
  const Finished run = Sample({"--json", "--seed", "18446744073709551615"}, "[[1, 2], [3, null]]");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  const auto json = nlohmann::json::parse(run.out);
  EXPECT_EQ(json["token_ids"], nlohmann::json({1, 0}));
  EXPECT_EQ(json["seeds"][1], "18446744073709551615");
  EXPECT_EQ(json["row_errors"], nlohmann::json::array());
  EXPECT_EQ(json["payload"], "inline");
  ASSERT_EQ(requests_.size(), 1u);
  EXPECT_FALSE(requests_[0].params(0).has_logprobs());
}

TEST_F(SampleCommandTest, LeavesRowsInMemoryThatTheServerSees) {
  const TempDir shared(MemoryFileSystem());
  service_.shm_dir = shared.path();
  service_.info.set_shared_memory(true);
  service_.info.set_shared_memory_dir(shared.path());
  const int vocab_size = 20'000;
  std::vector<float> row(vocab_size, 0);
  row[777] = 1;
  const std::string file = WriteFile(
      dir_.File("x.npy"),
      NpyFile("{'descr':'<f4','fortran_order':False,'shape':(1,20000)}", FloatBytes(row)));
  const Finished run = Sample({file, "--json"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  const auto json = nlohmann::json::parse(run.out);
  EXPECT_EQ(json["token_ids"], nlohmann::json({777}));
  EXPECT_EQ(json["payload"], "shared_memory");
  EXPECT_TRUE(std::filesystem::is_empty(shared.path()));
}

TEST_F(SampleCommandTest, SendsWhatTheFlagsSay) {
  const std::string file =
      WriteFile(dir_.File("x.npy"), NpyFile("{'descr':'<f4','fortran_order':False,'shape':(3,2)}",
                                            FloatBytes({1, 2, 3, 4, 6, 5})));
  const Finished run = Sample({file, "--rows=2,0", "--typical_p", "0.9", "--lenient", "--position",
                               "10", "--prompt_ids=1"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  ASSERT_EQ(requests_.size(), 1u);
  const v1::SampleTokensRequest& request = requests_[0];
  EXPECT_EQ(request.validation(), v1::VALIDATION_LENIENT);
  EXPECT_EQ(request.params(0).typical_p(), 0.9);
  EXPECT_EQ(request.params(0).logprobs().ShortDebugString(), "");
  EXPECT_TRUE(request.params(0).has_logprobs());
  EXPECT_EQ(request.logits().inline_(), FloatBytes({6, 5, 1, 2}));
  ASSERT_EQ(request.rows_size(), 2);
  EXPECT_EQ(request.rows(1).ShortDebugString(), "position: 11 prompt_ids: 1");
}

TEST_F(SampleCommandTest, AFailedCallIsOneWithCodeAndText) {
  service_.answer = [](const v1::SampleTokensRequest&, v1::SampleTokensResponse&) {
    return grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "params[0].top_p: too large");
  };
  const Finished run = Sample({"--top_p=2"}, "[1]");
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_EQ(run.err, "INVALID_ARGUMENT: params[0].top_p: too large\n");
  EXPECT_EQ(run.out, "");
}

TEST_F(SampleCommandTest, ABadFileIsTwo) {
  const std::string file = WriteFile(dir_.File("x.safetensors"), "1234567");
  const Finished run = Sample({file});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr(file + ": truncated"));
  EXPECT_TRUE(requests_.empty());
}

}  // namespace
}  // namespace tokendraw
