// The row filters. One formula and one declaration each; one file each in filters/.
//
// The contract of all of them, those that reshape aside. Input: the survivors with their logits x,
// never empty; p is their softmax, renormalised after every filter; m is the largest x. A filter
// removes survivors, never adds one, and leaves at least min(min_keep, survivors), the first in its
// own order; min_keep >= 1. A parameter that is "off" leaves the survivors as they are, bit for
// bit. Ties in any order go lowest id first. Ranges are those of params.h.
#ifndef TOKENDRAW_SAMPLING_FILTERS_H_
#define TOKENDRAW_SAMPLING_FILTERS_H_

#include <cstdint>
#include <span>

#include "sampling/rules.h"
#include "sampling/support.h"

namespace tokendraw::sampling {

// Keep x >= m - n * sigma; sigma = population standard deviation of x, or what `sigma` says, in a
// row of `vocab_size`. Off: n = 0. Source: arXiv 2411.07641.
void ApplyTopNSigma(double top_n_sigma, Sigma sigma, int32_t vocab_size, int32_t min_keep,
                    Support& support);

// Keep q >= sum of q^2, and all tied with m; q = softmax of x / temperature. Source: arXiv
// 2509.23234.
void ApplyPLess(double temperature, int32_t min_keep, Support& support);

// Keep q >= (n * sum of q^2 - 1) / (n - 1), n survivors, and all tied with m; q as for ApplyPLess.
// Source: arXiv 2509.23234.
void ApplyPLessNorm(double temperature, int32_t min_keep, Support& support);

// By abs(-ln p - H) ascending, keep while the mass before is < typical_p, or what else `cut` says;
// H = entropy of p. The most probable token can go. Off: 1. Source: arXiv 2202.00666.
void ApplyTypicalP(double typical_p, MassCut cut, int32_t min_keep, Support& support);

// Of the tokens with p >= threshold, if two or more, remove all but the least probable (lowest id
// among equals) and the protected, or what else `rule` says. Does nothing if fewer than min_keep
// would stay. Returns whether tokens were removed. Source: text-generation-webui pull request 6335.
bool ApplyXtc(double threshold, std::span<const int32_t> protected_ids, const XtcRule& rule,
              int32_t min_keep, Support& support);

// x := (x - m) / temperature. Removes nothing, but at 0 all but the first largest. Off: 1, where x
// stays as it is.
void ApplyTemperature(double temperature, Support& support);

// The same, with a temperature between max(0, temperature - range) and temperature + range, at
// (H / ln n)^exponent of the way; H = entropy of p, n survivors. One survivor stays as it is; where
// the temperature comes out 0 only the first largest stays. Source: llama.cpp.
void ApplyDynamicTemperature(double temperature, double range, double exponent, Support& support);

// With d = x - m: x := -k f d^2 + s f d^3, f = factor, k = (3 - curve) / 2, s = (curve - 1) / 2.
// Removes nothing. Off: factor 0. Source: text-generation-webui, KoboldCpp.
void ApplySmoothing(double factor, double curve, Support& support);

// Of the 100 first by (x descending, id ascending), q = their softmax: keep the first, and the
// others while the sum of -q ln q up to and with a token is <= top_h times that of all. Off: 0.
// Source: arXiv 2509.02510, transformers.
void ApplyTopH(double top_h, int32_t min_keep, Support& support);

// By (x descending, id ascending), keep the first k, and, if `with_equal`, all tied with the last
// of them. Off: 0.
void ApplyTopK(int32_t top_k, bool with_equal, int32_t min_keep, Support& support);

// By (x descending, id ascending), keep while the mass before is < top_p, or what else `cut` says.
// Off: 1. Source: arXiv 1904.09751.
void ApplyTopP(double top_p, MassCut cut, int32_t min_keep, Support& support);

// Keep p >= min_p * (largest p). Off: 0. Source: arXiv 2407.01082.
void ApplyMinP(double min_p, int32_t min_keep, Support& support);

// Keep p >= top_a * (largest p)^2. Off: 0. Source: KoboldAI.
void ApplyTopA(double top_a, int32_t min_keep, Support& support);

// By (p descending, id ascending), with d_i = abs((p_i - p_i+1) - (p_i+1 - p_i+2)): keep the first,
// and of the others, the last aside, those before which the d add up to <= tfs_z of them all. Off:
// 1, fewer than three survivors, or no d but 0. Source: trentbrick.github.io/Tail-Free-Sampling.
void ApplyTfsZ(double tfs_z, int32_t min_keep, Support& support);

// Keep p >= epsilon_cutoff, and all tied with m. Off: 0. Source: arXiv 2210.15191.
void ApplyEpsilonCutoff(double epsilon_cutoff, int32_t min_keep, Support& support);

// Keep p >= min(eta_cutoff, sqrt(eta_cutoff) * e^-H), and all tied with m; H = entropy of p. Off:
// 0. Source: arXiv 2210.15191, transformers.
void ApplyEtaCutoff(double eta_cutoff, int32_t min_keep, Support& support);

// Keep the first k = (eps 2^mu / (1 - V^-eps))^(1 / s), eps = s - 1, rounded down; s says how fast
// the 100 largest p fall: p like rank^-s. Keeps all if k is none. Source: arXiv 2007.14966.
void ApplyMirostat1(double mu, int32_t vocab_size, int32_t min_keep, Support& support);

// Keep -log2 p <= mu. Source: arXiv 2007.14966.
void ApplyMirostat2(double mu, int32_t min_keep, Support& support);

// x := 5 - 10 d^2 / (1 + d), d = abs(p - aim) / 0.3. Removes nothing. Source: llama.cpp pull
// request 17927.
void ApplyAdaptiveP(double aim, Support& support);

}  // namespace tokendraw::sampling

#endif  // TOKENDRAW_SAMPLING_FILTERS_H_
