#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>

#include "service/convert.h"
#include "tests/service/requests.h"

namespace tokendraw {
namespace {

using ::testing::HasSubstr;

struct BadRequest {
  const char* name;
  std::function<void(v1::SampleTokensRequest&)> spoil;
  const char* text;
};

class BadRequestTest : public ::testing::TestWithParam<BadRequest> {};

// Two rows of three tokens, spoiled in one way.
TEST_P(BadRequestTest, IsInvalidAndSaysWhere) {
  v1::SampleTokensRequest request = ValuesRequest({{1, 2, 3}, {4, 5, 6}});
  request.add_params();
  request.add_rows();
  request.add_rows();
  ASSERT_TRUE(Convert(request).ok());
  GetParam().spoil(request);
  const absl::Status status = Convert(request);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr(GetParam().text));
}

using Request = v1::SampleTokensRequest;

INSTANTIATE_TEST_SUITE_P(
    , BadRequestTest,
    ::testing::Values(
        BadRequest{"NoVocab", [](Request& r) { r.mutable_logits()->set_vocab_size(0); },
                   "logits.vocab_size: vocab_size must be >= 1"},
        BadRequest{"NoRows", [](Request& r) { r.mutable_logits()->set_row_count(0); },
                   "logits.row_count: row_count must be >= 1"},
        BadRequest{"StrideBelowV", [](Request& r) { r.mutable_logits()->set_row_stride(2); },
                   "logits.row_stride: row_stride must be 0 or >= vocab_size"},
        BadRequest{"NegativeStride", [](Request& r) { r.mutable_logits()->set_row_stride(-3); },
                   "logits.row_stride: row_stride must be 0 or >= vocab_size"},
        BadRequest{"TooFewValues",
                   [](Request& r) {
                     r.mutable_logits()->mutable_values()->mutable_values()->RemoveLast();
                   },
                   "logits.values: expected 6 values (row_count 2 x row_stride 3), got 5"},
        BadRequest{"ValuesOfAnotherType",
                   [](Request& r) { r.mutable_logits()->set_data_type(v1::DATA_TYPE_F16); },
                   "logits.data_type: data_type of values must be DATA_TYPE_F32"},
        BadRequest{"NoPayload", [](Request& r) { r.mutable_logits()->clear_payload(); },
                   "logits.payload: one of inline, shared_memory, values must be set"},
        BadRequest{"InlineWithoutType",
                   [](Request& r) { r.mutable_logits()->set_inline_(std::string(24, 0)); },
                   "logits.data_type: data_type must be DATA_TYPE_F32"},
        BadRequest{
            "InlineTooLong",
            [](Request& r) {
              r.mutable_logits()->set_data_type(v1::DATA_TYPE_BF16);
              r.mutable_logits()->set_inline_(std::string(13, 0));
            },
            "logits.inline: expected 12 bytes (row_count 2 x row_stride 3 x 2 bytes), got 13"},
        BadRequest{"RowsOfAnotherNumber", [](Request& r) { r.add_rows(); },
                   "rows: expected 0 or row_count 2 rows, got 3"},
        BadRequest{"ParamsIndex", [](Request& r) { r.mutable_rows(1)->set_params_index(1); },
                   "rows[1].params_index: params_index must be in [0, 1), got 1"},
        BadRequest{"Position", [](Request& r) { r.mutable_rows(0)->set_position(-1); },
                   "rows[0].position: position must be >= 0"},
        BadRequest{"OutputCount", [](Request& r) { r.mutable_rows(1)->set_output_count(-1); },
                   "rows[1].output_count: output_count must be >= 0"},
        BadRequest{"MirostatMu",
                   [](Request& r) {
                     r.mutable_rows(0)->mutable_sampler_state()->set_mirostat_mu(std::nan(""));
                   },
                   "rows[0].sampler_state.mirostat_mu: mirostat_mu must be finite"},
        BadRequest{
            "AdaptiveSum",
            [](Request& r) { r.mutable_rows(1)->mutable_sampler_state()->set_adaptive_sum(-1e-9); },
            "rows[1].sampler_state.adaptive_sum: adaptive_sum must be finite and >= 0.0"},
        BadRequest{
            "AdaptiveWeight",
            [](Request& r) {
              r.mutable_rows(0)->mutable_sampler_state()->set_adaptive_weight(HUGE_VAL);
            },
            "rows[0].sampler_state.adaptive_weight: adaptive_weight must be finite and >= 0.0"},
        BadRequest{"EmptySequence",
                   [](Request& r) { r.mutable_params(0)->add_bad_token_sequences(); },
                   "params[0].bad_token_sequences[0].token_ids: a sequence must have at least one "
                   "token"},
        BadRequest{"SequenceId",
                   [](Request& r) {
                     r.mutable_params(0)->add_dry_breaker_sequences()->add_token_ids(0);
                     r.mutable_params(0)->mutable_dry_breaker_sequences(0)->add_token_ids(3);
                   },
                   "params[0].dry_breaker_sequences[0].token_ids[1]: id must be in [0, 3), got 3"},
        BadRequest{"StopId", [](Request& r) { r.mutable_params(0)->add_stop_ids(3); },
                   "params[0].stop_ids[0]: id must be in [0, 3), got 3"},
        BadRequest{"AllowedId", [](Request& r) { r.mutable_params(0)->add_allowed_ids(-1); },
                   "params[0].allowed_ids[0]: id must be in [0, 3), got -1"},
        BadRequest{"SampleCount", [](Request& r) { r.mutable_rows(0)->set_sample_count(65537); },
                   "rows[0].sample_count: sample_count must be in [0, 65536]"},
        BadRequest{"PromptId", [](Request& r) { r.mutable_rows(0)->add_prompt_ids(3); },
                   "rows[0].prompt_ids[0]: id must be in [0, 3), got 3"},
        BadRequest{"OutputId", [](Request& r) { r.mutable_rows(1)->add_output_ids(-1); },
                   "rows[1].output_ids[0]: id must be in [0, 3), got -1"},
        BadRequest{"MaskTooShort", [](Request& r) { r.mutable_rows(0)->set_allowed_mask("abc"); },
                   "rows[0].allowed_mask: expected 4 bytes (ceil(3 / 32) words of 4 bytes), got 3"},
        BadRequest{"EmptyMaskIsNotAbsent",
                   [](Request& r) { r.mutable_rows(0)->set_allowed_mask(""); },
                   "rows[0].allowed_mask: expected 4 bytes"},
        BadRequest{"CountsBesideHistory",
                   [](Request& r) {
                     r.mutable_rows(0)->add_token_counts();
                     r.mutable_rows(0)->add_output_ids(1);
                   },
                   "rows[0].token_counts: token_counts must not stand beside"},
        BadRequest{"CountsWithAWindow",
                   [](Request& r) {
                     r.mutable_rows(0)->add_token_counts();
                     r.mutable_params(0)->set_penalty_last_n(1);
                   },
                   "rows[0].token_counts: token_counts have no order"},
        BadRequest{"CountsWithDry",
                   [](Request& r) {
                     r.mutable_rows(0)->add_token_counts();
                     r.mutable_params(0)->set_dry_multiplier(1);
                   },
                   "rows[0].token_counts: token_counts have no order"},
        BadRequest{"CountsWithASlope",
                   [](Request& r) {
                     r.mutable_rows(0)->add_token_counts();
                     r.mutable_params(0)->set_repetition_penalty_slope(0.5f);
                   },
                   "rows[0].token_counts: token_counts have no order: repetition_penalty_slope "},
        BadRequest{"CountsWithNgrams",
                   [](Request& r) {
                     r.mutable_rows(0)->add_token_counts();
                     r.mutable_params(0)->set_no_repeat_ngram_size(1);
                   },
                   "rows[0].token_counts: token_counts have no order: no_repeat_ngram_size "},
        BadRequest{"CountsWithBadSequences",
                   [](Request& r) {
                     r.mutable_rows(0)->add_token_counts();
                     auto* const ids = r.mutable_params(0)->add_bad_token_sequences();
                     ids->add_token_ids(1);
                     ids->add_token_ids(2);
                   },
                   "rows[0].token_counts: token_counts have no order: bad_token_sequences "},
        BadRequest{"CountsTwice",
                   [](Request& r) {
                     r.mutable_rows(0)->add_token_counts()->set_token_id(1);
                     r.mutable_rows(0)->add_token_counts()->set_token_id(1);
                   },
                   "rows[0].token_counts: id 1 must be named at most once"},
        BadRequest{"CountId",
                   [](Request& r) { r.mutable_rows(0)->add_token_counts()->set_token_id(3); },
                   "rows[0].token_counts[0].token_id: token_id must be in [0, 3), got 3"},
        BadRequest{"Timeout", [](Request& r) { r.set_timeout_ms(-1); },
                   "timeout_ms: timeout_ms must be >= 0"},
        BadRequest{"Validation",
                   [](Request& r) { r.set_validation(static_cast<v1::Validation>(9)); },
                   "validation: unknown validation 9"}),
    [](const auto& info) { return info.param.name; });

TEST(ConvertRequestTest, AllViolationsAreListed) {
  v1::SampleTokensRequest request = ValuesRequest({{1, 2, 3}});
  request.add_params()->set_typical_p(2);
  request.add_params()->set_min_p(-1);
  request.add_rows()->set_position(-1);
  const std::string text(Convert(request).message());
  EXPECT_EQ(text,
            "params[0].typical_p: typical_p must be in (0.0, 1.0]; "
            "params[1].min_p: min_p must be in [0.0, 1.0]; "
            "rows[0].position: position must be >= 0");
}

TEST(ConvertRequestTest, ABadShapeDoesNotHideBadParameters) {
  v1::SampleTokensRequest request;
  request.add_params()->set_typical_p(2);
  request.mutable_params(0)->add_xtc_protected_ids(5);
  EXPECT_EQ(std::string(Convert(request).message()),
            "params[0].typical_p: typical_p must be in (0.0, 1.0]; "
            "logits.vocab_size: vocab_size must be >= 1; "
            "logits.row_count: row_count must be >= 1");
}

TEST(ConvertRequestTest, LimitsAreNamed) {
  v1::SampleTokensRequest request = ValuesRequest({{1, 2, 3}});
  request.add_rows()->set_sample_count(1001);
  EXPECT_EQ(Convert(request),
            absl::ResourceExhaustedError("rows: 1001 draws are over max_draws 1000"));
  request.mutable_logits()->set_row_count(65);
  EXPECT_EQ(Convert(request),
            absl::ResourceExhaustedError("logits.row_count: 65 is over max_rows 64"));
}

TEST(ConvertRequestTest, TheLargestShapeDoesNotOverflow) {
  v1::SampleTokensRequest request = ValuesRequest({{1}});
  request.mutable_logits()->set_vocab_size(2147483647);
  request.mutable_logits()->set_row_count(64);
  EXPECT_THAT(std::string(Convert(request).message()),
              HasSubstr("expected 137438953408 values (row_count 64 x row_stride 2147483647)"));
}

TEST(ConvertRequestTest, SharedMemoryIsUnimplementedWithoutADirectory) {
  v1::SampleTokensRequest request = ValuesRequest({{1}});
  request.mutable_logits()->mutable_shared_memory()->set_name("rows");
  EXPECT_EQ(Convert(request).code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(Convert(request).message()),
              HasSubstr("logits.shared_memory: this server runs without --shm_dir"));
  auto& shards = *request.mutable_logits()->mutable_shards();
  shards.add_shards()->mutable_shared_memory()->set_name("rows");
  EXPECT_EQ(Convert(request).code(), absl::StatusCode::kUnimplemented);
}

TEST(ConvertRequestTest, RowsLieAtTheirStride) {
  v1::SampleTokensRequest request;
  v1::LogitsTensor& logits = *request.mutable_logits();
  logits.set_vocab_size(2);
  logits.set_row_count(2);
  logits.set_row_stride(3);
  logits.set_data_type(v1::DATA_TYPE_BF16);
  logits.set_inline_(std::string("\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b", 12));
  ReceivedRequest received;
  ASSERT_TRUE(received.Read(Serialised(request)).ok());
  const absl::StatusOr<Batch> batch = ConvertRequest(received, kLimits, nullptr);
  ASSERT_TRUE(batch.ok()) << batch.status();
  ASSERT_EQ(batch->rows.size(), 2u);
  RowRoom room;
  const auto pieces = batch->tensor.Row(1, room);
  ASSERT_EQ(pieces.size(), 1u);
  ASSERT_EQ(pieces[0].size(), 4u);
  EXPECT_EQ(std::memcmp(pieces[0].data(), "\x06\x07\x08\x09", 4), 0);
  EXPECT_EQ(batch->vocab_size, 2);
  EXPECT_EQ(batch->data_type, sampling::DataType::kBF16);
}

// A row takes its state and its count; what it leaves out stays absent.
TEST(ConvertRequestTest, StatesAndCountsArrive) {
  v1::SampleTokensRequest request = ValuesRequest({{1}, {1}});
  v1::SamplerState& state = *request.add_rows()->mutable_sampler_state();
  state.set_mirostat_mu(-2.5);
  state.set_adaptive_sum(0);
  state.set_adaptive_weight(7.5);
  request.mutable_rows(0)->set_output_count(0);
  request.add_rows();
  ReceivedRequest received;
  ASSERT_TRUE(received.Read(Serialised(request)).ok());
  const absl::StatusOr<Batch> batch = ConvertRequest(received, kLimits, nullptr);
  ASSERT_TRUE(batch.ok()) << batch.status();
  const sampling::RowInput& first = batch->rows[0].input;
  const sampling::RowInput& second = batch->rows[1].input;
  EXPECT_EQ(first.state.mirostat_mu, -2.5);
  EXPECT_EQ(first.state.adaptive_sum, 0);
  EXPECT_EQ(first.state.adaptive_weight, 7.5);
  EXPECT_EQ(first.output_count, 0);
  EXPECT_FALSE(second.state.mirostat_mu.has_value());
  EXPECT_FALSE(second.state.adaptive_sum.has_value());
  EXPECT_FALSE(second.state.adaptive_weight.has_value());
  EXPECT_FALSE(second.output_count.has_value());
}

// What needs no order may stand beside counts.
TEST(ConvertRequestTest, CountsServeWhatNeedsNoOrder) {
  v1::SampleTokensRequest request = ValuesRequest({{1, 2, 3}});
  v1::SamplingParams& params = *request.add_params();
  params.set_repetition_penalty(1.5);
  params.set_repetition_penalty_slope(1);
  params.set_no_repeat_ngram_size(0);
  params.add_bad_token_sequences()->add_token_ids(1);
  params.set_min_tokens(5);
  params.add_stop_ids(2);
  params.add_allowed_ids(0);
  request.add_rows()->add_token_counts()->set_token_id(1);
  EXPECT_TRUE(Convert(request).ok()) << Convert(request);
}

TEST(ConvertRequestTest, AKeyIsTakenAsItIsAndAMissingSeedIsDrawn) {
  v1::SampleTokensRequest request = ValuesRequest({{1}, {1}, {1}});
  request.add_rows()->set_seed(0);
  request.add_rows();
  request.add_rows();
  request.mutable_rows(0)->set_position(int64_t{1} << 40);
  ReceivedRequest received;
  ASSERT_TRUE(received.Read(Serialised(request)).ok());
  const absl::StatusOr<Batch> batch = ConvertRequest(received, kLimits, nullptr);
  ASSERT_TRUE(batch.ok()) << batch.status();
  EXPECT_EQ(batch->rows[0].input.key.seed, 0u) << "seed 0 is a seed";
  EXPECT_EQ(batch->rows[0].input.key.position, uint64_t{1} << 40);
  EXPECT_NE(batch->rows[1].input.key.seed, batch->rows[2].input.key.seed);
}

}  // namespace
}  // namespace tokendraw
