#include <algorithm>
#include <cfloat>
#include <cmath>
#include <functional>
#include <numeric>

#include "sampling/profile.h"
#include "tests/oracle/steps.h"

namespace tokendraw::oracle {
namespace {

using sampling::Filter;
using sampling::MassCut;
using sampling::Params;
using sampling::RowInput;

struct Distribution {
  std::vector<double> p;
  std::vector<double> log_p;  // exact where p has underflowed to 0
};

Distribution Softmax(const std::vector<Token>& tokens, double temperature) {
  temperature = std::max(temperature, DBL_MIN);
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

void KeepFirstOf(size_t count, std::vector<Token>& tokens) {
  const std::vector<size_t> order = OrderBy(LargestFirst(tokens));
  std::vector<bool> keep(tokens.size());
  for (size_t i = 0; i < std::min(count, tokens.size()); ++i) keep[order[i]] = true;
  KeepOnly(keep, tokens);
}

std::vector<double> Descending(std::vector<double> values) {
  std::sort(values.begin(), values.end(), std::greater<>());
  return values;
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
double KeepMass(double mass, const std::vector<double>& keys, bool computed, MassCut cut,
                const Params& params, std::vector<Token>& tokens) {
  const std::vector<double> p = Softmax(tokens, 1).p;
  const std::vector<size_t> order = OrderBy(keys);
  std::vector<bool> keep(tokens.size());
  double margin = 1, before = 0;
  size_t kept = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    const bool inside = before < mass || (cut == MassCut::kUpTo && before == mass);
    keep[order[i]] = inside || i < Least(params, tokens);
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
  for (size_t i = 0; cut == MassCut::kBelowWithEqual && i < order.size(); ++i) {
    if (keys[i] == keys[order[kept - 1]]) keep[i] = true;
  }
  KeepOnly(keep, tokens);
  return margin;
}

double TopNSigma(const Params& params, const RowInput& row, double origin,
                 std::vector<Token>& tokens) {
  if (params.top_n_sigma == 0) return 1;
  if (sampling::RulesOf(params.profile).sigma == sampling::Sigma::kWholeRowAsZero) {
    const double v = row.logits.vocab_size;
    if (v == 1) return 1;
    double whole_mean = 0, whole_variance = 0;
    for (const Token& token : tokens) whole_mean += (token.x + origin) / v;
    for (const Token& token : tokens) {
      whole_variance += std::pow(token.x + origin - whole_mean, 2) / (v - 1);
    }
    whole_variance += (v - static_cast<double>(tokens.size())) * std::pow(whole_mean, 2) / (v - 1);
    const double largest = MaxLogit(tokens);
    std::vector<double> below;
    for (const Token& token : tokens) below.push_back(token.x - largest);
    return KeepFrom(below, -params.top_n_sigma * std::sqrt(whole_variance), params, tokens);
  }
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

double PLessNorm(const Params& params, bool tempered, std::vector<Token>& tokens) {
  if (!params.p_less_norm || tokens.size() == 1) return 1;
  const std::vector<double> q = Softmax(tokens, tempered ? 1 : params.temperature).p;
  const auto n = static_cast<double>(tokens.size());
  double sum_of_squares = 0;
  for (double value : q) sum_of_squares += value * value;
  const double cut = (n * sum_of_squares - 1) / (n - 1);
  // Of the difference of two nearly equal numbers, little is certain.
  const double margin = Distance(n * sum_of_squares, 1);
  return std::min(margin, KeepFrom(q, cut, params, tokens));
}

double Entropy(const Distribution& d) {
  double entropy = 0;
  for (size_t i = 0; i < d.p.size(); ++i) {
    if (d.p[i] > 0) entropy -= d.p[i] * d.log_p[i];
  }
  return entropy;
}

double TypicalP(const Params& params, std::vector<Token>& tokens) {
  if (params.typical_p == 1) return 1;
  const Distribution d = Softmax(tokens, 1);
  const double entropy = Entropy(d);
  std::vector<double> keys;
  for (double log_p : d.log_p) keys.push_back(std::abs(-log_p - entropy));
  return KeepMass(params.typical_p, keys, true, sampling::RulesOf(params.profile).typical_p, params,
                  tokens);
}

double Xtc(const Params& params, std::vector<Token>& tokens, bool& applied) {
  const std::vector<double> p = Softmax(tokens, 1).p;
  const sampling::XtcRule& rule = sampling::RulesOf(params.profile).xtc;
  const auto& guarded = params.xtc_protected_ids;
  double margin = 1;
  std::vector<size_t> above;
  for (size_t i = 0; i < tokens.size(); ++i) {
    margin = std::min(margin, Distance(p[i], params.xtc_threshold));
    const bool is_equal = p[i] == params.xtc_threshold && !rule.above_threshold;
    if (p[i] > params.xtc_threshold || is_equal) above.push_back(i);
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
    if (rule.protected_stop_it && is_guarded && i != least) return margin;
  }
  const auto removed = static_cast<size_t>(std::count(keep.begin(), keep.end(), false));
  if (removed == 0 || tokens.size() - removed < Least(params, tokens)) return margin;
  applied = true;
  KeepOnly(keep, tokens);
  return margin;
}

double Temperature(const Params& params, double& origin, std::vector<Token>& tokens) {
  double temperature = params.temperature;
  if (params.dynatemp_range != 0) {
    if (tokens.size() < 2) return 1;
    const auto n = static_cast<double>(tokens.size());
    const double share = std::clamp(Entropy(Softmax(tokens, 1)) / std::log(n), 0.0, 1.0);
    const double low = std::max(0.0, temperature - params.dynatemp_range);
    const double high = temperature + params.dynatemp_range;
    temperature = low + (high - low) * std::pow(share, params.dynatemp_exponent);
    // Next to 0 it is the rounding of the entropy that speaks.
    if (temperature < 1e-9) {
      if (temperature == 0) KeepFirstOf(1, tokens);
      return 0;
    }
  }
  if (temperature == 1) return 1;
  if (temperature == 0) {
    KeepFirstOf(1, tokens);
    return 1;
  }
  const double max = MaxLogit(tokens);
  for (Token& token : tokens) token.x = (token.x - max) / temperature;
  origin = (origin + max) / temperature;
  return 1;
}

double Smoothing(const Params& params, double& origin, std::vector<Token>& tokens) {
  if (params.smoothing_factor == 0) return 1;
  const double k = (3 - params.smoothing_curve) / 2, s = (params.smoothing_curve - 1) / 2;
  const double max = MaxLogit(tokens);
  origin += max;
  for (Token& token : tokens) {
    const double d = token.x - max;
    const double x = params.smoothing_factor * (-k * d * d + s * d * d * d);
    token.x = static_cast<float>(std::max(x, -double{FLT_MAX}));
  }
  return 1;
}

double TopH(const Params& params, std::vector<Token>& tokens) {
  if (params.top_h == 0) return 1;
  std::vector<Token> first = tokens;
  KeepFirstOf(100, first);
  const Distribution d = Softmax(first, 1);
  const double total = Entropy(d);
  double with = 0, margin = 1;
  size_t kept = 0;
  for (const double log_q : Descending(d.log_p)) {
    with -= std::exp(log_q) * log_q;
    if (kept > 0) margin = std::min(margin, Distance(with, params.top_h * total));
    if (kept > 0 && with > params.top_h * total) break;
    ++kept;
  }
  KeepFirstOf(std::max(kept, Least(params, tokens)), tokens);
  return margin;
}

double TopA(const Params& params, std::vector<Token>& tokens) {
  if (params.top_a == 0) return 1;
  const std::vector<double> p = Softmax(tokens, 1).p;
  const double largest = *std::max_element(p.begin(), p.end());
  return KeepFrom(p, params.top_a * largest * largest, params, tokens);
}

double TfsZ(const Params& params, std::vector<Token>& tokens) {
  if (params.tfs_z == 1 || tokens.size() < 3) return 1;
  const std::vector<double> p = Descending(Softmax(tokens, 1).p);
  std::vector<double> d;
  double total = 0;
  for (size_t i = 0; i + 2 < p.size(); ++i) {
    d.push_back(std::abs((p[i] - p[i + 1]) - (p[i + 1] - p[i + 2])));
    total += d.back();
  }
  if (total == 0) return 1;
  // Differences of nearly equal probabilities are rounding.
  double margin = total < 1e-6 * p[0] ? 0 : 1, sum = 0;
  size_t kept = 1;
  for (const double value : d) {
    sum += value;
    margin = std::min(margin, Distance(sum, params.tfs_z * total));
    if (sum > params.tfs_z * total) break;
    ++kept;
  }
  KeepFirstOf(std::max(kept, Least(params, tokens)), tokens);
  return margin;
}

double EpsilonCutoff(const Params& params, std::vector<Token>& tokens) {
  if (params.epsilon_cutoff == 0) return 1;
  return KeepFrom(Softmax(tokens, 1).p, params.epsilon_cutoff, params, tokens);
}

double EtaCutoff(const Params& params, std::vector<Token>& tokens) {
  if (params.eta_cutoff == 0) return 1;
  const Distribution d = Softmax(tokens, 1);
  const double eta = params.eta_cutoff;
  return KeepFrom(d.p, std::min(eta, std::sqrt(eta) * std::exp(-Entropy(d))), params, tokens);
}

double Mirostat(const Params& params, const RowInput& row, std::vector<Token>& tokens) {
  if (params.mirostat == 0) return 1;
  const double mu = row.state.mirostat_mu.value_or(2 * params.mirostat_tau);
  const Distribution d = Softmax(tokens, 1);
  if (params.mirostat == 2) {
    std::vector<double> minus_surprise;
    for (double log_p : d.log_p) minus_surprise.push_back(log_p / std::log(2));
    double margin = 1, largest = -INFINITY;
    for (double value : minus_surprise) {
      margin = std::min(margin, Distance(value, -mu));
      largest = std::max(largest, value);
    }
    if (largest < -mu) {  // none: the first stay
      KeepFirstOf(Least(params, tokens), tokens);
    } else {
      KeepFrom(minus_surprise, -mu, params, tokens);
    }
    return margin;
  }
  std::vector<double> log_p = Descending(d.log_p);
  log_p.resize(std::min<size_t>(log_p.size(), 100));
  if (log_p.size() < 2) return 1;
  double tb = 0, tt = 0;
  for (size_t i = 0; i + 1 < log_p.size(); ++i) {
    const double t = std::log((static_cast<double>(i) + 2) / (static_cast<double>(i) + 1));
    tb += t * (log_p[i] - log_p[i + 1]);
    tt += t * t;
  }
  const double s = tb / tt, eps = s - 1, v = row.logits.vocab_size;
  if (s < 1e-9 || std::abs(eps) < 1e-6) return 0;  // 0 / 0, or next to it
  const double k = std::pow(eps * std::exp2(mu) / (1 - std::pow(v, -eps)), 1 / s);
  if (k < 0x1p31) {
    KeepFirstOf(std::max({static_cast<size_t>(k), size_t{1}, Least(params, tokens)}), tokens);
  }
  return std::isfinite(k) ? Distance(k, std::round(k)) : 0;
}

double TopK(const Params& params, std::vector<Token>& tokens) {
  if (params.top_k == 0) return 1;
  const auto rule = sampling::RulesOf(params.profile).top_k;
  const bool with_equal = rule == sampling::EqualAtK::kStay ||
                          (rule == sampling::EqualAtK::kStayIfBiased && !params.logit_bias.empty());
  const size_t k = std::max(static_cast<size_t>(params.top_k), Least(params, tokens));
  std::vector<Token> first = tokens;
  KeepFirstOf(k, first);
  double last = INFINITY;
  for (const Token& token : first) last = std::min(last, token.x);
  if (with_equal) std::erase_if(tokens, [&](const Token& token) { return token.x < last; });
  if (!with_equal) tokens = first;
  return 1;
}

double TopP(const Params& params, std::vector<Token>& tokens) {
  if (params.top_p == 1) return 1;
  return KeepMass(params.top_p, LargestFirst(tokens), false,
                  sampling::RulesOf(params.profile).top_p, params, tokens);
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

void AdaptiveP(const Params& params, const RowInput& row, std::vector<Token>& tokens) {
  const double decay = params.adaptive_decay, target = params.adaptive_target;
  const double sum = row.state.adaptive_sum.value_or(target / (1 - decay));
  const double weight = row.state.adaptive_weight.value_or(1 / (1 - decay));
  const double average = weight == 0 ? target : sum / weight;
  const double aim = std::clamp(2 * target - average, 0.0, 1.0);
  const std::vector<double> p = Softmax(tokens, 1).p;
  for (size_t i = 0; i < tokens.size(); ++i) {
    const double d = std::abs(p[i] - aim) / 0.3;
    tokens[i].x = static_cast<float>(5 - 10 * d * d / (1 + d));
  }
}

double ApplyFilter(Filter filter, const Params& params, const RowInput& row, bool xtc_acts,
                   Shape& shape, std::vector<Token>& tokens, bool& xtc_applied) {
  const bool tempered = shape.tempered;
  switch (filter) {
    case Filter::kTopNSigma:
      return TopNSigma(params, row, shape.origin, tokens);
    case Filter::kPLess:
      return PLess(params, tempered, tokens);
    case Filter::kTypicalP:
      return TypicalP(params, tokens);
    case Filter::kXtc:
      return xtc_acts ? Xtc(params, tokens, xtc_applied) : 1;
    case Filter::kTemperature:
      shape.tempered = true;
      return Temperature(params, shape.origin, tokens);
    case Filter::kTopK:
      return TopK(params, tokens);
    case Filter::kTopP:
      return TopP(params, tokens);
    case Filter::kMinP:
      return MinP(params, tokens);
    case Filter::kPLessNorm:
      return PLessNorm(params, tempered, tokens);
    case Filter::kSmoothing:
      return Smoothing(params, shape.origin, tokens);
    case Filter::kTopH:
      return TopH(params, tokens);
    case Filter::kTopA:
      return TopA(params, tokens);
    case Filter::kTfsZ:
      return TfsZ(params, tokens);
    case Filter::kEpsilonCutoff:
      return EpsilonCutoff(params, tokens);
    case Filter::kEtaCutoff:
      return EtaCutoff(params, tokens);
    case Filter::kMirostat:
      return Mirostat(params, row, tokens);
    case Filter::kAdaptiveP:  // what is drawn from, not what is kept
      break;
  }
  return 1;
}

}  // namespace tokendraw::oracle
