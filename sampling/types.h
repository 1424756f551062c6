// What one row is made of: what comes in with it and what goes out. Plain values and views.
#ifndef TOKENDRAW_SAMPLING_TYPES_H_
#define TOKENDRAW_SAMPLING_TYPES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace tokendraw::sampling {

// Version of the rules that turn a row into a token. A change of any token is a new version.
inline constexpr char kSemanticsVersion[] = "1";

// Draws of one row are told apart by 16 bits of the random counter.
inline constexpr int32_t kMaxSampleCount = 1 << 16;

// Element type of a row in memory, little-endian, at any alignment.
enum class DataType { kF32, kF16, kBF16 };

// Bytes of one element: 4 for F32, 2 for F16 and BF16.
size_t ElementSize(DataType type);

// One row of logits as it came: `vocab_size` elements, all at `data` or, if there are any, in
// `pieces`, of which each may end within an element.
struct LogitsRow {
  const void* data = nullptr;
  DataType type = DataType::kF32;
  int32_t vocab_size = 0;  // V, >= 1
  std::span<const std::span<const std::byte>> pieces;
};

// In place of a whole row: its largest logits, all that are above the smallest one given, and what
// is known of the row as it came. Formulas and accuracy: proto/tokendraw/v1/logits.proto.
struct CandidateRow {
  std::span<const int32_t> ids;   // strictly ascending, in [0, V), at least one
  std::span<const float> logits;  // of `ids`
  std::optional<double> log_sum_exp;
  std::optional<double> mean_logit;
  std::optional<float> max;
  std::optional<double> logit_mean;
  std::optional<double> logit_stddev;
  std::optional<double> sum_squared_probability;
};

// How often a token occurs in the history.
struct TokenCount {
  int32_t token_id = 0;      // [0, V)
  int32_t output_count = 0;  // >= 0
  int32_t prompt_count = 0;  // >= 0
};

// The history that penalties look at: either tokens in order, oldest first, or counts alone. All
// ids are in [0, V).
struct History {
  std::span<const int32_t> prompt_ids;
  std::span<const int32_t> output_ids;
  std::span<const TokenCount> token_counts;
};

// Names the random numbers of a row: the same key gives the same numbers, on every machine.
struct RandomKey {
  uint64_t seed = 0;
  uint64_t position = 0;
};

// What mirostat and adaptive-p know of the tokens of a sequence so far.
struct SamplerState {
  std::optional<double> mirostat_mu;      // finite; absent: 2 * tau
  std::optional<double> adaptive_sum;     // >= 0; absent: target / (1 - decay)
  std::optional<double> adaptive_weight;  // >= 0; absent: 1 / (1 - decay)
};

// One row to sample. Views must outlive the call.
struct RowInput {
  LogitsRow logits;  // with `candidates`, only its vocab_size
  std::optional<CandidateRow> candidates;
  // ceil(V / 32) little-endian 32-bit words, least significant bit first, 1 = allowed.
  // Absent: everything is allowed.
  std::optional<std::span<const std::byte>> allowed_mask;
  History history;
  std::optional<int32_t> output_count;  // absent: what the history has
  SamplerState state;
  RandomKey key;
  int32_t sample_count = 1;  // [1, kMaxSampleCount]
};

struct TokenLogprob {
  int32_t token_id = 0;
  float logprob = 0;  // nats, <= 0
};

// One token drawn from a row. `state` is filled if Params::HasState, everything from `logprob` on
// only for rows that asked (Params::WantsDetail).
struct Draw {
  int32_t token_id = -1;
  SamplerState state;  // after this token
  float logprob = 0;
  std::vector<TokenLogprob> top_logprobs;        // highest first, ties lowest id first
  std::vector<TokenLogprob> requested_logprobs;  // in the order of Params::logprob_ids
  int32_t kept_count = 0;
  std::vector<int32_t> kept_ids;  // ascending
  double kept_mass = 0;           // under the softmax of the row after the edits, (0, 1]
  bool xtc_applied = false;
  bool greedy = false;
};

enum class RowErrorCode {
  kNone,
  kNotFinite,
  kNoCandidate,
  kNeedFullRow,  // the candidates cannot decide it
  kBadSummary,   // the candidates contradict it
  kUnreadable,   // its memory went away; not found by Sampler but by whoever hands it the row
};

// What is wrong with a row.
struct RowError {
  RowErrorCode code = RowErrorCode::kNone;
  int32_t token = -1;           // first offending id of kNotFinite, else -1
  const char* field = nullptr;  // of CandidateRow: that of kBadSummary, or of a kNotFinite that
                                // has no token; else null
};

struct RowResult {
  RowErrorCode error = RowErrorCode::kNone;
  int32_t error_token = -1;           // RowError::token
  const char* error_field = nullptr;  // RowError::field
  std::vector<Draw> draws;            // sample_count of them; empty on error
  // Tokens that the first draw was made from: 1 if greedy; V where no filter cut, masked or not.
  int32_t kept_count = 0;
  int32_t xtc_armed = 0;    // draws whose XTC coin said to act
  int32_t xtc_applied = 0;  // draws from which XTC removed tokens
};

}  // namespace tokendraw::sampling

#endif  // TOKENDRAW_SAMPLING_TYPES_H_
