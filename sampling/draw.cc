#include "sampling/draw.h"

#include <limits>

#include "sampling/kernels.h"
#include "sampling/noise.h"
#include "sampling/profile.h"

namespace tokendraw::sampling {
namespace {

// Noise at the largest u is -ln(-ln(1 - 2^-53)) = 36.74: what trails farther cannot win.
constexpr double kLargestNoise = 36.75;

// The smallest upper word of u that can lift a value `deficit` above the best score, or a little
// less: u >= exp(-e^-deficit) >= 1 - e^-deficit.
uint32_t LeastUpperWord(double deficit) {
  constexpr double kWords = 4294967296.0;
  const double words = kWords * (deficit > 0 ? 1 - Exp(-deficit) : 0.0);
  return words > 2 ? static_cast<uint32_t>(words - 2) : 0;
}

// The best token so far.
struct Best {
  int32_t id;
  double score;

  void Offer(int32_t other_id, double other_score) {
    if (other_score > score || (other_score == score && other_id < id))
      *this = {other_id, other_score};
  }
};

}  // namespace

// No logarithm but for contenders: in a block, only tokens whose noise word could lift the block's
// largest value above the best score. x is taken relative to m: beside logits of 1e38 the noise
// would be lost to rounding.
int32_t DrawToken(const Support& support, const RandomKey& key, int32_t sample_index) {
  const double max = support.Max();
  const int32_t favourite = support.Argmax();
  Best best = {favourite, GumbelNoise(key, sample_index, favourite)};
  LoudTokens contenders;
  for (size_t index = 0; index < support.BlockCount(); ++index) {
    const TokenBlock block = support.Block(index);
    const double deficit = best.score - (support.Value(block.max) - max);
    if (deficit > kLargestNoise) continue;
    const uint32_t upper_word = LeastUpperWord(deficit);
    const size_t count = block.ids == nullptr
                             ? FindLoudTokens(key, sample_index, block.first_id,
                                              block.logits.size(), upper_word, contenders)
                             : FindLoudTokens(key, sample_index, {block.ids, block.logits.size()},
                                              upper_word, contenders);
    for (size_t i = 0; i < count; ++i) {
      const LoudToken& contender = contenders[i];
      const double ahead = support.Value(block.logits[contender.position]) - max;
      if (contender.word < LeastUpperWord(best.score - ahead)) continue;
      const int32_t id = block.id(contender.position);
      best.Offer(id, ahead + GumbelNoise(key, sample_index, id));
    }
  }
  return best.id;
}

bool XtcActs(const Params& params, const RandomKey& key, int32_t sample_index) {
  if (params.xtc_probability == 0) return false;
  const double coin = Uniform(key, Purpose::kXtcCoin, sample_index, 0);
  const bool may_equal = RulesOf(params.profile).xtc.coin_may_equal;
  return may_equal ? coin <= params.xtc_probability : coin < params.xtc_probability;
}

}  // namespace tokendraw::sampling
