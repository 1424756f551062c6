#include "tests/bench/chains.h"

#include <random>

namespace tokendraw::bench {
namespace {

constexpr int32_t kBiasedIds = 200;
constexpr int32_t kHistoryTokens = 512;
constexpr int32_t kDistinctTokens = 300;  // of the history
constexpr uint32_t kMaskedOneIn = 10;

void AddBias(int32_t vocab_size, Chain& chain) {
  for (int32_t i = 0; i < kBiasedIds; ++i) {
    chain.params.logit_bias.push_back(
        {.id = i * (vocab_size / kBiasedIds), .bias = i % 2 == 0 ? 0.5f : -0.5f});
  }
}

void AddMask(int32_t vocab_size, Chain& chain) {
  std::mt19937 random(1);
  chain.allowed_mask.resize((static_cast<size_t>(vocab_size) + 31) / 32 * 4);
  for (std::byte& bits : chain.allowed_mask) {
    for (int bit = 0; bit < 8; ++bit) {
      if (random() % kMaskedOneIn != 0) bits |= std::byte{1} << bit;
    }
  }
}

void AddHistory(int32_t vocab_size, Chain& chain) {
  chain.params.repetition_penalty = 1.1f;
  chain.params.frequency_penalty = 0.1f;
  chain.params.presence_penalty = 0.1f;
  std::mt19937 random(1);
  for (int32_t i = 0; i < kHistoryTokens; ++i) {
    const auto token = static_cast<int32_t>(random() % kDistinctTokens);
    chain.history.push_back(token * (vocab_size / kDistinctTokens));
  }
}

}  // namespace

std::vector<Chain> MakeChains(int32_t vocab_size) {
  std::vector<Chain> chains = {
      {"greedy", ChainKind::kGreedy, {.temperature = 0}},
      {"draw", ChainKind::kDraw, {}},
      {"top_k 40 + top_p .95 + min_p .05 + T .8",
       ChainKind::kTopK,
       {.temperature = 0.8, .top_k = 40, .top_p = 0.95, .min_p = 0.05}},
      {"XTC(1,.1)", ChainKind::kXtc, {.xtc_probability = 1, .xtc_threshold = 0.1}},
      {"typical .9", ChainKind::kTypical, {.typical_p = 0.9}},
      {"typical .9 + XTC(.5,.1) + T .8 + top_p .95 + min_p .05",
       ChainKind::kTypical,
       {.temperature = 0.8,
        .top_p = 0.95,
        .min_p = 0.05,
        .typical_p = 0.9,
        .xtc_probability = 0.5,
        .xtc_threshold = 0.1}},
  };
  Chain full = chains.back();
  full.name = kFullChain;
  full.params.top_n_sigma = 1;
  chains.push_back(full);

  Chain biased = full, masked = full, edited = full;
  biased.name = "full + bias";
  masked.name = "full + mask";
  edited.name = "full + bias + mask + history";
  biased.kind = masked.kind = edited.kind = ChainKind::kEdited;
  for (Chain* chain : {&biased, &edited}) AddBias(vocab_size, *chain);
  for (Chain* chain : {&masked, &edited}) AddMask(vocab_size, *chain);
  AddHistory(vocab_size, edited);
  chains.insert(chains.end(), {biased, masked, edited});
  return chains;
}

}  // namespace tokendraw::bench
