#include "tests/oracle/oracle.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "sampling/profile.h"
#include "tests/oracle/philox.h"
#include "tests/oracle/steps.h"

namespace tokendraw::oracle {
namespace {

using sampling::DataType;
using sampling::Filter;
using sampling::Params;
using sampling::RowErrorCode;
using sampling::RowInput;

// IEEE binary16 as its definition reads.
float HalfToFloat(uint16_t bits) {
  const double sign = bits & 0x8000 ? -1.0 : 1.0;
  const int exponent = bits / 1024 % 32;
  const int fraction = bits % 1024;
  if (exponent == 31) return static_cast<float>(fraction ? NAN : sign * INFINITY);
  const double value =
      exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
  return static_cast<float>(sign * value);
}

std::vector<float> Decode(const sampling::LogitsRow& row) {
  std::vector<float> x(row.vocab_size);
  const auto* bytes = static_cast<const unsigned char*>(row.data);
  for (size_t i = 0; i < x.size(); ++i) {
    if (row.type == DataType::kF32) {
      std::memcpy(&x[i], bytes + 4 * i, 4);
    } else {
      const auto bits = static_cast<uint16_t>(bytes[2 * i] + 256 * bytes[2 * i + 1]);
      const uint32_t wide = uint32_t{bits} * 65536;
      if (row.type == DataType::kF16) x[i] = HalfToFloat(bits);
      if (row.type == DataType::kBF16) std::memcpy(&x[i], &wide, 4);
    }
  }
  return x;
}

int32_t FirstBad(const std::vector<float>& x) {
  for (size_t i = 0; i < x.size(); ++i) {
    if (std::isnan(x[i]) || (std::isinf(x[i]) && x[i] > 0)) return static_cast<int32_t>(i);
  }
  return -1;
}

int32_t Greedy(const std::vector<Token>& tokens) {
  const double max = MaxLogit(tokens);
  return std::find_if(tokens.begin(), tokens.end(), [&](const Token& t) { return t.x == max; })->id;
}

int32_t GumbelMax(const std::vector<Token>& tokens, const RowInput& row, uint32_t sample_index) {
  const double max = MaxLogit(tokens);
  int32_t best_id = -1;
  double best = 0;
  for (const Token& token : tokens) {
    const double u = Uniform(row.key.seed, row.key.position, 0, sample_index, token.id);
    const double score = token.x - max - std::log(-std::log(u));
    if (best_id < 0 || score > best) best_id = token.id, best = score;
  }
  return best_id;
}

OracleDraw DrawOnce(const Params& params, const RowInput& row, uint32_t sample_index,
                    std::vector<Token> tokens) {
  OracleDraw draw;
  draw.margins.fill(1.0);
  draw.greedy = sampling::IsGreedy(params);
  const sampling::Rules& rules = sampling::RulesOf(params.profile);
  const bool is_constrained = row.allowed_mask || !params.allowed_ids.empty();
  const double coin = Uniform(row.key.seed, row.key.position, 1, sample_index, 0);
  const bool may_equal = rules.xtc.coin_may_equal && params.xtc_probability > 0;
  const bool xtc_acts =
      !(params.xtc_skip_constrained && is_constrained) &&
      (coin < params.xtc_probability || (may_equal && coin == params.xtc_probability));
  const bool has_xtc = std::count(params.chain.begin(), params.chain.end(), Filter::kXtc) > 0;
  Shape shape;
  const auto apply = [&](Filter filter) {
    Params own = params;
    const auto& without = rules.no_min_keep;
    if (std::count(without.begin(), without.end(), filter) > 0) own.min_keep = 1;
    draw.margins[static_cast<size_t>(filter)] =
        ApplyFilter(filter, own, row, xtc_acts, shape, tokens, draw.xtc_applied);
  };
  if (draw.greedy) {
    if (rules.greedy == sampling::Greedy::kTemperatureOrTopKButXtc && has_xtc) apply(Filter::kXtc);
    draw.token_id = Greedy(tokens);
    if (params.temperature != 0) tokens = {{draw.token_id, 0.0}};
  } else {
    for (const Filter filter : params.chain) apply(filter);
    std::vector<Token> drawn_from = tokens;
    if (params.adaptive_target >= 0 && !params.chain.empty() &&
        params.chain.back() == Filter::kAdaptiveP) {
      AdaptiveP(params, row, drawn_from);
    }
    draw.token_id = GumbelMax(drawn_from, row, sample_index);
  }
  for (const Token& token : tokens) draw.kept_ids.push_back(token.id);
  return draw;
}

}  // namespace

bool OracleDraw::IsCertain() const {
  return *std::min_element(margins.begin(), margins.end()) > kMargin;
}

OracleResult Sample(const Params& params, const RowInput& row) {
  std::vector<float> x = Decode(row.logits);
  if (FirstBad(x) >= 0) return {RowErrorCode::kNotFinite, FirstBad(x), {}};
  Edit(params, row, x);
  if (FirstBad(x) >= 0) return {RowErrorCode::kNotFinite, FirstBad(x), {}};

  std::vector<Token> tokens;
  for (size_t i = 0; i < x.size(); ++i) {
    if (!std::isinf(x[i])) tokens.push_back({static_cast<int32_t>(i), x[i]});
  }
  if (tokens.empty()) return {RowErrorCode::kNoCandidate, -1, {}};

  OracleResult result;
  for (int32_t sample = 0; sample < row.sample_count; ++sample) {
    result.draws.push_back(DrawOnce(params, row, static_cast<uint32_t>(sample), tokens));
  }
  return result;
}

}  // namespace tokendraw::oracle
