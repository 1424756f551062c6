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
