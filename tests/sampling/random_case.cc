#include "tests/sampling/random_case.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace tokendraw::sampling {
namespace {

class Random {
 public:
  explicit Random(uint32_t seed) : engine_(seed) {}
  bool Chance(double p) { return Real(0, 1) < p; }
  double Real(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(engine_);
  }
  double LogReal(double low, double high) { return std::exp(Real(std::log(low), std::log(high))); }
  int32_t Int(int32_t low, int32_t high) {
    return std::uniform_int_distribution<int32_t>(low, high)(engine_);
  }
  float Normal(double stddev) {
    return static_cast<float>(std::normal_distribution<double>(0, stddev)(engine_));
  }
  uint64_t Bits() { return engine_(); }
  std::mt19937_64& engine() { return engine_; }

 private:
  std::mt19937_64 engine_;
};

constexpr float kMasked = -std::numeric_limits<float>::infinity();

std::vector<float> RandomLogits(Random& random, int32_t size, std::string& kind) {
  std::vector<float> row(static_cast<size_t>(size));
  const double stddev = random.LogReal(0.3, 8);
  for (float& x : row) x = random.Normal(stddev);
  const auto some = [&] { return static_cast<size_t>(random.Int(0, size - 1)); };
  switch (random.Int(0, 19)) {
    case 0:
      kind = "all equal";
      std::fill(row.begin(), row.end(), row[0]);
      break;
    case 1:
    case 2:
    case 3:
      kind = "ties";
      for (float& x : row) x = std::round(x * 2) / 2;
      break;
    case 4:
    case 5: {
      kind = "block of -inf";
      const size_t first = some(), last = some();
      for (size_t i = 0; i < row.size(); ++i) {
        if ((i >= first) != (i >= last)) row[i] = kMasked;
      }
      break;
    }
    case 6: {
      kind = "one finite token";
      const size_t finite = some();
      for (size_t i = 0; i < row.size(); ++i) {
        if (i != finite) row[i] = kMasked;
      }
      break;
    }
    case 7:
    case 8:
      kind = "huge";
      for (float& x : row) x = static_cast<float>(random.Real(-3e38, 3e38));
      row[some()] = 3e38f;
      row[some()] = 3e38f;
      break;
    case 9:
      kind = "denormal";
      for (float& x : row) {
        if (random.Chance(0.4)) x *= 1e-40f;
      }
      break;
    case 10:
      kind = "all masked";
      std::fill(row.begin(), row.end(), kMasked);
      break;
    case 11:
      kind = "not finite";
      row[some()] = random.Chance(0.5) ? -kMasked : std::nanf("");
      row[some()] = random.Chance(0.5) ? -kMasked : std::nanf("");
      break;
    case 12:
    case 13:
    case 14:
    case 15:
      kind = "peaked";
      for (int i = random.Int(1, 6); i > 0; --i) row[some()] += static_cast<float>(4 * stddev);
      break;
    default:
      kind = "gaussian";
  }
  return row;
}

// The halves are bit patterns of the float's upper part, so F16 rows are not the same numbers.
void Store(const std::vector<float>& row, RandomCase& test_case) {
  const size_t element = ElementSize(test_case.type);
  test_case.data.resize(row.size() * element);
  for (size_t i = 0; i < row.size(); ++i) {
    const uint32_t bits = std::bit_cast<uint32_t>(row[i]);
    uint16_t half = static_cast<uint16_t>(bits >> 16);
    if (test_case.type == DataType::kF16) {  // truncated; subnormals to 0, too large to infinity
      const uint32_t sign = bits >> 31 << 15;
      const int exponent = static_cast<int>(bits >> 23 & 0xff) - 127 + 15;
      const uint32_t fraction = bits >> 13 & 0x3ff;
      half = static_cast<uint16_t>(sign);
      if (exponent >= 31) half = static_cast<uint16_t>(sign | 0x7c00 | (std::isnan(row[i]) << 9));
      if (exponent > 0 && exponent < 31) {
        half = static_cast<uint16_t>(sign | static_cast<uint32_t>(exponent) << 10 | fraction);
      }
    }
    if (element == 4) std::memcpy(&test_case.data[4 * i], &bits, 4);
    if (element == 2) std::memcpy(&test_case.data[2 * i], &half, 2);
  }
}

void MakeContext(Random& random, RandomCase& c) {
  const int32_t last = c.vocab_size - 1;
  if (random.Chance(0.3)) {
    const double density = random.Real(0, 1);
    c.mask.resize(static_cast<size_t>((c.vocab_size + 31) / 32 * 4));
    for (std::byte& byte : c.mask) {
      for (int bit = 0; bit < 8; ++bit) {
        byte = byte << 1 | std::byte{random.Chance(density)};
      }
    }
  }
  // A small alphabet makes repeats.
  const int32_t alphabet = std::min(last, random.Int(1, 6));
  if (random.Chance(0.25)) {
    for (int32_t id = 0; id <= last && id < 10; ++id) {
      c.token_counts.push_back({id, random.Int(0, 3), random.Int(0, 3)});
    }
  } else {
    for (int i = random.Int(0, 25); i > 0; --i) c.prompt_ids.push_back(random.Int(0, alphabet));
    for (int i = random.Int(0, 25); i > 0; --i) c.output_ids.push_back(random.Int(0, alphabet));
  }
  for (int32_t id = 0; id <= last && id < 8; ++id) {
    if (!random.Chance(0.1)) continue;
    c.params.logit_bias.push_back({id, random.Chance(0.2) ? kMasked : random.Normal(3)});
  }
  c.key = {random.Bits(), random.Chance(0.5) ? random.Bits() : 7};
  c.sample_count = random.Int(1, 4);
}

void MakeEdits(Random& random, Params& p) {
  if (random.Chance(0.3)) p.repetition_penalty = static_cast<float>(random.Real(0.5, 2));
  if (random.Chance(0.3)) p.frequency_penalty = random.Normal(0.5);
  if (random.Chance(0.3)) p.presence_penalty = random.Normal(0.5);
  if (random.Chance(0.3)) p.penalty_last_n = random.Int(-1, 30);
  if (random.Chance(0.5)) p.frequency_scope = FrequencyScope::kOutput;
  if (random.Chance(0.3)) {
    p.dry_multiplier = static_cast<float>(random.Real(0.1, 2));
    p.dry_base = static_cast<float>(random.Real(1, random.Chance(0.1) ? 1e20 : 3));
    p.dry_allowed_length = random.Int(1, 4);
    p.dry_penalty_last_n = random.Chance(0.5) ? -1 : random.Int(0, 40);
    if (random.Chance(0.3)) p.dry_breaker_ids = {2, 0};
  }
}

void MakeFilters(Random& random, Params& p) {
  const auto on = [&] { return random.Chance(0.35); };
  if (random.Chance(0.6)) p.temperature = random.LogReal(0.1, 5);
  if (random.Chance(0.05)) p.temperature = 0;
  if (random.Chance(0.05)) p.temperature = random.LogReal(1e-37, 1e6);
  if (on()) p.top_k = random.Chance(0.1) ? 1 << 30 : random.Int(1, 40);
  if (on()) p.top_p = random.Real(0, 1);
  if (on()) p.min_p = random.Chance(0.5) ? random.Real(0, 1) : random.LogReal(1e-8, 1);
  if (on()) p.typical_p = random.Real(0, 1);
  if (on()) p.top_n_sigma = random.Real(0.01, 4);
  p.p_less = on();
  if (random.Chance(0.5)) {
    p.xtc_probability = random.Chance(0.3) ? 1.0 : random.Real(0, 1);
    p.xtc_threshold = random.LogReal(1e-3, 0.7);
    if (random.Chance(0.3)) p.xtc_protected_ids = {1, 0, 5};
  }
  if (random.Chance(0.3)) p.min_keep = random.Int(0, 12);
  if (random.Chance(0.5)) {
    std::shuffle(p.chain.begin(), p.chain.end(), random.engine());
    if (random.Chance(0.3)) p.chain.resize(static_cast<size_t>(random.Int(0, 17)));
    const auto adaptive = std::find(p.chain.begin(), p.chain.end(), Filter::kAdaptiveP);
    if (adaptive != p.chain.end()) std::rotate(adaptive, adaptive + 1, p.chain.end());
  }
  p.return_kept = true;
  p.logprobs = LogprobMode::kProcessed;
}

void MakeRarerFilters(Random& random, Params& p) {
  const auto on = [&] { return random.Chance(0.1); };
  p.p_less_norm = on();
  if (on()) {
    p.dynatemp_range = random.LogReal(0.05, 3);
    p.dynatemp_exponent = random.Chance(0.5) ? 1 : random.LogReal(0.1, 5);
  }
  if (on()) {
    p.smoothing_factor = random.LogReal(0.01, 5);
    p.smoothing_curve = random.Real(1, 3);
  }
  if (on()) p.top_a = random.LogReal(1e-3, 1);
  if (on()) p.tfs_z = random.Chance(0.2) ? 0 : random.Real(0, 1);
  if (on()) p.epsilon_cutoff = random.LogReal(1e-5, 0.99);
  if (on()) p.eta_cutoff = random.LogReal(1e-5, 0.99);
  if (on()) p.top_h = random.Real(0, 1);
  if (on()) {
    p.mirostat = random.Int(1, 2);
    p.mirostat_tau = random.Real(0, 8);
  }
  if (on()) {
    p.adaptive_target = random.Real(0, 1);
    p.adaptive_decay = random.Real(0, 0.99);
  }
  p.xtc_skip_constrained = on();
  if (random.Chance(0.3)) p.profile = static_cast<Profile>(random.Int(0, 6));
}

SamplerState RandomState(Random& random) {
  SamplerState state;
  if (random.Chance(0.5)) state.mirostat_mu = random.Real(-1, 15);
  if (random.Chance(0.5)) {
    state.adaptive_sum = random.Real(0, 5);
    state.adaptive_weight = random.Chance(0.1) ? 0 : random.Real(1, 10);
  }
  return state;
}

std::vector<int32_t> RandomIds(Random& random, int32_t count, int32_t last) {
  std::vector<int32_t> ids(static_cast<size_t>(count));
  for (int32_t& id : ids) id = random.Int(0, last);
  return ids;
}

// Of the alphabet of histories, so that they occur there.
std::vector<TokenSequence> RandomSequences(Random& random, int32_t last) {
  std::vector<TokenSequence> sequences(static_cast<size_t>(random.Int(1, 4)));
  for (TokenSequence& sequence : sequences) sequence = RandomIds(random, random.Int(1, 4), last);
  return sequences;
}

void MakeBans(Random& random, RandomCase& c) {
  Params& p = c.params;
  const int32_t last = c.vocab_size - 1;
  const int32_t alphabet = std::min(last, random.Int(1, 6));
  const bool ordered = c.token_counts.empty();
  if (random.Chance(0.2)) p.repetition_penalty_slope = static_cast<float>(random.Real(0, 2));
  if (random.Chance(0.15)) p.no_repeat_ngram_size = random.Int(1, 5);
  if (random.Chance(0.15)) {
    p.bad_token_sequences = RandomSequences(random, alphabet);
    for (TokenSequence& sequence : p.bad_token_sequences) {
      if (!ordered) sequence.resize(1);
    }
  }
  if (random.Chance(0.2)) {
    p.min_tokens = random.Int(0, 30);
    p.stop_ids = RandomIds(random, random.Int(0, 3), last);
    if (random.Chance(0.3)) c.output_count = random.Int(0, 30);
  }
  if (random.Chance(0.1)) {
    p.allowed_ids = RandomIds(random, random.Int(1, std::min(last + 1, 300)), last);
  }
  if (random.Chance(0.5)) p.dry_breaker_sequences = RandomSequences(random, alphabet);
  if (!ordered) p.repetition_penalty_slope = 1, p.no_repeat_ngram_size = 0;
}

}  // namespace

RowInput RandomCase::Input() const {
  RowInput row{.logits = {data.data(), type, vocab_size},
               .history = {prompt_ids, output_ids, token_counts},
               .output_count = output_count,
               .state = state,
               .key = key,
               .sample_count = sample_count};
  if (!mask.empty()) row.allowed_mask = mask;
  return row;
}

RandomCase MakeRandomCase(uint32_t seed, int32_t vocab_size) {
  Random random(seed);
  RandomCase test_case;
  test_case.vocab_size = vocab_size;
  const int32_t type = random.Int(0, 9);
  if (type == 8) test_case.type = DataType::kF16;
  if (type == 9) test_case.type = DataType::kBF16;
  Store(RandomLogits(random, vocab_size, test_case.kind), test_case);
  MakeContext(random, test_case);
  MakeEdits(random, test_case.params);
  MakeFilters(random, test_case.params);
  MakeRarerFilters(random, test_case.params);
  test_case.state = RandomState(random);
  MakeBans(random, test_case);
  return test_case;
}

}  // namespace tokendraw::sampling
