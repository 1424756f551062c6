// The row filters. One formula and one declaration each; one file each in filters/.
//
// The contract of all of them. Input: the survivors with their logits x, never empty; p is their
// softmax, renormalised after every filter; m is the largest x. A filter removes survivors, never
// adds one, and leaves at least min(min_keep, survivors), the first in its own order; min_keep
// >= 1. A parameter that is "off" leaves the survivors as they are, bit for bit. Ties in any order
// go lowest id first. Ranges are those of params.h.
#ifndef TOKENDRAW_SAMPLING_FILTERS_H_
#define TOKENDRAW_SAMPLING_FILTERS_H_

#include <cstdint>
#include <span>

#include "sampling/support.h"

namespace tokendraw::sampling {

// Keep x >= m - n * sigma; sigma = population standard deviation of x. Off: n = 0.
// Source: arXiv 2411.07641.
void ApplyTopNSigma(double top_n_sigma, int32_t min_keep, Support& support);

// Keep q >= sum of q^2, and all tied with m; q = softmax of x / temperature. Source: arXiv
// 2509.23234.
void ApplyPLess(double temperature, int32_t min_keep, Support& support);

// By abs(-ln p - H) ascending, keep while the mass before is < typical_p; H = entropy of p. The
// most probable token can go. Off: 1. Source: arXiv 2202.00666.
void ApplyTypicalP(double typical_p, int32_t min_keep, Support& support);

// Of the tokens with p >= threshold, if two or more, remove all but the least probable (lowest id
// among equals) and the protected. Does nothing if fewer than min_keep would stay. Returns whether
// tokens were removed. Source: text-generation-webui pull request 6335.
bool ApplyXtc(double threshold, std::span<const int32_t> protected_ids, int32_t min_keep,
              Support& support);

// x := (x - m) / temperature, temperature > 0. Removes nothing. Off: 1, where x stays as it is.
void ApplyTemperature(double temperature, Support& support);

// By (x descending, id ascending), keep the first k. Off: 0.
void ApplyTopK(int32_t top_k, int32_t min_keep, Support& support);

// By (x descending, id ascending), keep while the mass before is < top_p. Off: 1.
// Source: arXiv 1904.09751.
void ApplyTopP(double top_p, int32_t min_keep, Support& support);

// Keep p >= min_p * (largest p). Off: 0. Source: arXiv 2407.01082.
void ApplyMinP(double min_p, int32_t min_keep, Support& support);

}  // namespace tokendraw::sampling

#endif  // TOKENDRAW_SAMPLING_FILTERS_H_
