#include "sampling/params.h"

#include <cmath>

namespace tokendraw::sampling {
namespace {

// Written so that NaN fails each of them.
bool Finite(double v) { return std::isfinite(v); }
bool FiniteFromZero(double v) { return std::isfinite(v) && v >= 0; }
bool FinitePositive(double v) { return std::isfinite(v) && v > 0; }
bool FiniteFromOne(double v) { return std::isfinite(v) && v >= 1; }
bool UnitClosed(double v) { return 0 <= v && v <= 1; }
bool UnitOpenBelow(double v) { return 0 < v && v <= 1; }
bool UnitOpenAbove(double v) { return 0 <= v && v < 1; }
bool OneToThree(double v) { return 1 <= v && v <= 3; }
bool ZeroToTwo(double v) { return 0 <= v && v <= 2; }
bool Decay(double v) { return 0 <= v && v <= 0.99; }
bool UnitOrOff(double v) { return v == -1 || UnitClosed(v); }
bool FromMinusOne(double v) { return v >= -1; }

using P = Params;

// clang-format off
constexpr ParamRule kRules[] = {
    {"temperature", &P::temperature, FiniteFromZero, "temperature must be >= 0.0",
     &P::temperature, 1.0},
    {"top_k", &P::top_k, FiniteFromZero, "top_k must be >= 0",
     &P::top_k, 0},
    {"top_p", &P::top_p, UnitOpenBelow, "top_p must be in (0.0, 1.0]",
     &P::top_p, 1.0},
    {"min_p", &P::min_p, UnitClosed, "min_p must be in [0.0, 1.0]",
     &P::min_p, 0.0},
    {"typical_p", &P::typical_p, UnitOpenBelow, "typical_p must be in (0.0, 1.0]",
     &P::typical_p, 1.0},
    {"top_n_sigma", &P::top_n_sigma, FiniteFromZero, "top_n_sigma must be >= 0.0",
     &P::top_n_sigma, 0.0},
    {"xtc_probability", &P::xtc_probability, UnitClosed, "xtc_probability must be in [0.0, 1.0]",
     &P::xtc_probability, 0.0},
    {"xtc_threshold", &P::xtc_threshold, UnitOpenBelow, "xtc_threshold must be in (0.0, 1.0]",
     &P::xtc_probability, 0.0},
    {"repetition_penalty", &P::repetition_penalty, FinitePositive,
     "repetition_penalty must be finite and > 0.0", &P::repetition_penalty, 1.0},
    {"frequency_penalty", &P::frequency_penalty, Finite, "frequency_penalty must be finite",
     &P::frequency_penalty, 0.0},
    {"presence_penalty", &P::presence_penalty, Finite, "presence_penalty must be finite",
     &P::presence_penalty, 0.0},
    {"penalty_last_n", &P::penalty_last_n, FromMinusOne, "penalty_last_n must be >= -1",
     &P::penalty_last_n, -1},
    {"min_keep", &P::min_keep, FiniteFromZero, "min_keep must be >= 0",
     &P::min_keep, 1},
    {"dry_multiplier", &P::dry_multiplier, FiniteFromZero,
     "dry_multiplier must be finite and >= 0.0", &P::dry_multiplier, 0.0},
    {"dry_base", &P::dry_base, FiniteFromOne, "dry_base must be finite and >= 1.0",
     &P::dry_multiplier, 0.0},
    {"dry_allowed_length", &P::dry_allowed_length, FiniteFromOne,
     "dry_allowed_length must be >= 1", &P::dry_multiplier, 0.0},
    {"dry_penalty_last_n", &P::dry_penalty_last_n, FromMinusOne,
     "dry_penalty_last_n must be >= -1", &P::dry_penalty_last_n, -1},
    {"dynatemp_range", &P::dynatemp_range, FiniteFromZero,
     "dynatemp_range must be finite and >= 0.0", &P::dynatemp_range, 0.0},
    {"dynatemp_exponent", &P::dynatemp_exponent, FinitePositive,
     "dynatemp_exponent must be finite and > 0.0", &P::dynatemp_range, 0.0},
    {"smoothing_factor", &P::smoothing_factor, FiniteFromZero,
     "smoothing_factor must be finite and >= 0.0", &P::smoothing_factor, 0.0},
    {"smoothing_curve", &P::smoothing_curve, OneToThree,
     "smoothing_curve must be in [1.0, 3.0]", &P::smoothing_factor, 0.0},
    {"top_a", &P::top_a, UnitClosed, "top_a must be in [0.0, 1.0]",
     &P::top_a, 0.0},
    {"tfs_z", &P::tfs_z, UnitClosed, "tfs_z must be in [0.0, 1.0]",
     &P::tfs_z, 1.0},
    {"epsilon_cutoff", &P::epsilon_cutoff, UnitOpenAbove, "epsilon_cutoff must be in [0.0, 1.0)",
     &P::epsilon_cutoff, 0.0},
    {"eta_cutoff", &P::eta_cutoff, UnitOpenAbove, "eta_cutoff must be in [0.0, 1.0)",
     &P::eta_cutoff, 0.0},
    {"top_h", &P::top_h, UnitClosed, "top_h must be in [0.0, 1.0]",
     &P::top_h, 0.0},
    {"mirostat", &P::mirostat, ZeroToTwo, "mirostat must be in [0, 2]",
     &P::mirostat, 0},
    {"mirostat_tau", &P::mirostat_tau, FiniteFromZero, "mirostat_tau must be finite and >= 0.0",
     &P::mirostat, 0},
    {"mirostat_eta", &P::mirostat_eta, FiniteFromZero, "mirostat_eta must be finite and >= 0.0",
     &P::mirostat, 0},
    {"adaptive_target", &P::adaptive_target, UnitOrOff,
     "adaptive_target must be -1.0 or in [0.0, 1.0]", &P::adaptive_target, -1.0},
    {"adaptive_decay", &P::adaptive_decay, Decay, "adaptive_decay must be in [0.0, 0.99]",
     &P::adaptive_target, -1.0},
    {"repetition_penalty_slope", &P::repetition_penalty_slope, FiniteFromZero,
     "repetition_penalty_slope must be finite and >= 0.0", &P::repetition_penalty_slope, 1.0},
    {"no_repeat_ngram_size", &P::no_repeat_ngram_size, FiniteFromZero,
     "no_repeat_ngram_size must be >= 0", &P::no_repeat_ngram_size, 0},
    {"min_tokens", &P::min_tokens, FiniteFromZero, "min_tokens must be >= 0",
     &P::min_tokens, 0},
};
// clang-format on

}  // namespace

std::span<const ParamRule> ParamRules() { return kRules; }

double GetField(const Params& params, const ParamRule::Field& field) {
  return std::visit([&](auto member) { return static_cast<double>(params.*member); }, field);
}

void SetField(const ParamRule::Field& field, double value, Params& params) {
  std::visit(
      [&](auto member) {
        using Value = std::remove_reference_t<decltype(params.*member)>;
        params.*member = static_cast<Value>(value);
      },
      field);
}

std::vector<const ParamRule*> BrokenRules(const Params& params) {
  std::vector<const ParamRule*> broken;
  for (const ParamRule& rule : kRules) {
    if (!rule.in_range(GetField(params, rule.field))) broken.push_back(&rule);
  }
  return broken;
}

void TurnOffBrokenRules(Params& params) {
  for (const ParamRule* rule : BrokenRules(params)) {
    SetField(rule->off_field, rule->off_value, params);
  }
}

}  // namespace tokendraw::sampling
