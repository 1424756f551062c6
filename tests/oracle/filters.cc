#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "tests/oracle/steps.h"

namespace tokendraw::oracle {
namespace {

using sampling::Filter;
using sampling::Params;

struct Distribution {
  std::vector<double> p;
  std::vector<double> log_p;  // exact where p has underflowed to 0
};

Distribution Softmax(const std::vector<Token>& tokens, double temperature) {
  const double max = MaxLogit(tokens);
  double sum = 0;
  for (const Token& token : tokens) sum += std::exp((token.x - max) / temperature);
  Distribution result;
  for (const Token& token : tokens) {
    result.p.push_back(std::exp((token.x - max) / temperature) / sum);
    result.log_p.push_back((token.x - max) / temperature - std::log(sum));
  }
  return result;
}

// Relative distance of two numbers, at most 1.
double Distance(double a, double b) {
  if (a == b) return 0;
  if (std::isinf(a) || std::isinf(b)) return 1;
  return std::min(1.0, std::abs(a - b) / std::max(std::abs(a), std::abs(b)));
}

// Indices of `keys`, ascending by key; ties lowest index, and so lowest id, first.
std::vector<size_t> OrderBy(const std::vector<double>& keys) {
  std::vector<size_t> order(keys.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return keys[a] < keys[b]; });
  return order;
}

std::vector<double> LargestFirst(const std::vector<Token>& tokens) {
  std::vector<double> keys;
  for (const Token& token : tokens) keys.push_back(-token.x);
  return keys;
}

size_t Least(const Params& params, const std::vector<Token>& tokens) {
  return std::min(tokens.size(), static_cast<size_t>(std::max(params.min_keep, 1)));
}

void KeepOnly(const std::vector<bool>& keep, std::vector<Token>& tokens) {
  std::vector<Token> kept;
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (keep[i]) kept.push_back(tokens[i]);
  }
  tokens = kept;
}

// Keeps tokens whose `value` is >= `cut`, all tied with the largest, and the min_keep largest.
double KeepFrom(const std::vector<double>& value, double cut, const Params& params,
                std::vector<Token>& tokens) {
  const double max = MaxLogit(tokens);
  double margin = 1;
  std::vector<bool> keep;
  for (size_t i = 0; i < tokens.size(); ++i) {
    keep.push_back(tokens[i].x == max || value[i] >= cut);
    if (tokens[i].x != max) margin = std::min(margin, Distance(value[i], cut));
  }
  const std::vector<size_t> order = OrderBy(LargestFirst(tokens));
  for (size_t i = 0; i < Least(params, tokens); ++i) keep[order[i]] = true;
  KeepOnly(keep, tokens);
  return margin;
}

// Keeps tokens by ascending key while the mass before them is < `mass`. Where the order itself is
// `computed`, the margin is also how near a token with another logit comes to the keys at the cut.
double KeepMass(double mass, const std::vector<double>& keys, bool computed, const Params& params,
                std::vector<Token>& tokens) {
  const std::vector<double> p = Softmax(tokens, 1).p;
  const std::vector<size_t> order = OrderBy(keys);
  std::vector<bool> keep(tokens.size());
  double margin = 1, before = 0;
  size_t kept = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    keep[order[i]] = before < mass || i < Least(params, tokens);
    if (keep[order[i]]) ++kept;
    if (i > 0) margin = std::min(margin, Distance(before, mass));
    before += p[order[i]];
  }
  for (size_t edge = kept - 1; computed && kept < order.size() && edge <= kept; ++edge) {
    for (size_t i = 0; i < order.size(); ++i) {
      if (tokens[i].x == tokens[order[edge]].x) continue;
      margin = std::min(margin, Distance(keys[i], keys[order[edge]]));
    }
  }
  KeepOnly(keep, tokens);
  return margin;
}

double TopNSigma(const Params& params, std::vector<Token>& tokens) {
  if (params.top_n_sigma == 0) return 1;
  const double max = MaxLogit(tokens);
  const auto n = static_cast<double>(tokens.size());
  double mean = 0, variance = 0;
  for (const Token& token : tokens) mean += (token.x - max) / n;
  for (const Token& token : tokens) variance += std::pow(token.x - max - mean, 2) / n;
  const double reach = params.top_n_sigma * std::sqrt(variance);
  std::vector<double> relative;
  for (const Token& token : tokens) relative.push_back(token.x - max);
  return KeepFrom(relative, -reach, params, tokens);
}

double PLess(const Params& params, bool tempered, std::vector<Token>& tokens) {
  if (!params.p_less) return 1;
  const std::vector<double> q = Softmax(tokens, tempered ? 1 : params.temperature).p;
  double sum_of_squares = 0;
  for (double value : q) sum_of_squares += value * value;
  return KeepFrom(q, sum_of_squares, params, tokens);
}

double TypicalP(const Params& params, std::vector<Token>& tokens) {
  if (params.typical_p == 1) return 1;
  const Distribution d = Softmax(tokens, 1);
  double entropy = 0;
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (d.p[i] > 0) entropy -= d.p[i] * d.log_p[i];
  }
  std::vector<double> keys;
  for (double log_p : d.log_p) keys.push_back(std::abs(-log_p - entropy));
  return KeepMass(params.typical_p, keys, true, params, tokens);
}

double Xtc(const Params& params, std::vector<Token>& tokens, bool& applied) {
  const std::vector<double> p = Softmax(tokens, 1).p;
  const auto& guarded = params.xtc_protected_ids;
  double margin = 1;
  std::vector<size_t> above;
  for (size_t i = 0; i < tokens.size(); ++i) {
    margin = std::min(margin, Distance(p[i], params.xtc_threshold));
    if (p[i] >= params.xtc_threshold) above.push_back(i);
  }
  if (above.size() < 2) return margin;
  size_t least = above[0];
  for (size_t i : above) {
    if (tokens[i].x < tokens[least].x) least = i;
  }
  std::vector<bool> keep(tokens.size(), true);
  for (size_t i : above) {
    const bool is_guarded = std::count(guarded.begin(), guarded.end(), tokens[i].id) > 0;
    keep[i] = i == least || is_guarded;
  }
  const auto removed = static_cast<size_t>(std::count(keep.begin(), keep.end(), false));
  if (removed == 0 || tokens.size() - removed < Least(params, tokens)) return margin;
  applied = true;
  KeepOnly(keep, tokens);
  return margin;
}

double Temperature(const Params& params, std::vector<Token>& tokens) {
  if (params.temperature == 1) return 1;
  const double max = MaxLogit(tokens);
  for (Token& token : tokens) token.x = (token.x - max) / params.temperature;
  return 1;
}

double TopK(const Params& params, std::vector<Token>& tokens) {
  if (params.top_k == 0) return 1;
  const size_t k = std::max(static_cast<size_t>(params.top_k), Least(params, tokens));
  const std::vector<size_t> order = OrderBy(LargestFirst(tokens));
  std::vector<bool> keep(tokens.size());
  for (size_t i = 0; i < std::min(k, tokens.size()); ++i) keep[order[i]] = true;
  KeepOnly(keep, tokens);
  return 1;
}

double TopP(const Params& params, std::vector<Token>& tokens) {
  if (params.top_p == 1) return 1;
  return KeepMass(params.top_p, LargestFirst(tokens), false, params, tokens);
}

double MinP(const Params& params, std::vector<Token>& tokens) {
  if (params.min_p == 0) return 1;
  const double max = MaxLogit(tokens);
  std::vector<double> ratios;
  for (const Token& token : tokens) ratios.push_back(std::exp(token.x - max));
  return KeepFrom(ratios, params.min_p, params, tokens);
}

}  // namespace

double MaxLogit(const std::vector<Token>& tokens) {
  double max = tokens[0].x;
  for (const Token& token : tokens) max = std::max(max, token.x);
  return max;
}

double ApplyFilter(Filter filter, const Params& params, bool xtc_acts, bool tempered,
                   std::vector<Token>& tokens, bool& xtc_applied) {
  switch (filter) {
    case Filter::kTopNSigma:
      return TopNSigma(params, tokens);
    case Filter::kPLess:
      return PLess(params, tempered, tokens);
    case Filter::kTypicalP:
      return TypicalP(params, tokens);
    case Filter::kXtc:
      return xtc_acts ? Xtc(params, tokens, xtc_applied) : 1;
    case Filter::kTemperature:
      return Temperature(params, tokens);
    case Filter::kTopK:
      return TopK(params, tokens);
    case Filter::kTopP:
      return TopP(params, tokens);
    case Filter::kMinP:
      return MinP(params, tokens);
  }
  return 1;
}

}  // namespace tokendraw::oracle
