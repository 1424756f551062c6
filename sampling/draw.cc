#include "sampling/draw.h"

#include <limits>

#include "sampling/noise.h"

namespace tokendraw::sampling {

int32_t Argmax(std::span<const Candidate> tokens) {
  const Candidate* best = &tokens.front();
  for (const Candidate& token : tokens) {
    if (token.logit > best->logit) best = &token;
  }
  return best->id;
}

// x is taken relative to m: beside logits of 1e38 the noise would be lost to rounding.
int32_t DrawToken(const Support& support, const RandomKey& key, int32_t sample_index) {
  const double max = support.Max();
  const Candidate* best = &support.tokens().front();
  double best_score = -std::numeric_limits<double>::infinity();
  for (const Candidate& token : support.tokens()) {
    const double score = (token.logit - max) + GumbelNoise(key, sample_index, token.id);
    if (score > best_score) {
      best = &token;
      best_score = score;
    }
  }
  return best->id;
}

bool XtcActs(const Params& params, const RandomKey& key, int32_t sample_index) {
  return params.xtc_probability > 0 &&
         Uniform(key, Purpose::kXtcCoin, sample_index, 0) < params.xtc_probability;
}

}  // namespace tokendraw::sampling
