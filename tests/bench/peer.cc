#include "tests/bench/peer.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

#include "sampling/profile.h"

namespace tokendraw::bench {
namespace {

using sampling::Filter;
using sampling::Params;

constexpr uint32_t kSeed = 1;
constexpr size_t kMinKeep = 1;

template <typename Function>
void Load(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(library, name));
  if (function != nullptr) return;
  std::fprintf(stderr, "chain_bench: %s\n", dlerror());
  std::exit(2);
}

}  // namespace

PeerApi::PeerApi(const std::string& path) {
  void* library = dlopen(path.c_str(), RTLD_NOW);
  if (library == nullptr) {
    std::fprintf(stderr, "chain_bench: %s\n", dlerror());
    std::exit(2);
  }
  Load(library, "llama_sampler_chain_init", chain_init);
  Load(library, "llama_sampler_chain_add", chain_add);
  Load(library, "llama_sampler_apply", apply);
  Load(library, "llama_sampler_accept", accept);
  Load(library, "llama_sampler_free", free);
  Load(library, "llama_sampler_init_greedy", init_greedy);
  Load(library, "llama_sampler_init_dist", init_dist);
  Load(library, "llama_sampler_init_top_k", init_top_k);
  Load(library, "llama_sampler_init_top_p", init_top_p);
  Load(library, "llama_sampler_init_min_p", init_min_p);
  Load(library, "llama_sampler_init_typical", init_typical);
  Load(library, "llama_sampler_init_temp", init_temp);
  Load(library, "llama_sampler_init_xtc", init_xtc);
  Load(library, "llama_sampler_init_top_n_sigma", init_top_n_sigma);
  Load(library, "llama_sampler_init_penalties", init_penalties);
  Load(library, "llama_sampler_init_logit_bias", init_logit_bias);
}

PeerChain::PeerChain(const PeerApi& api, const Chain& chain, int32_t vocab_size)
    : api_(&api), chain_(api.chain_init({.no_perf = true}), api.free) {
  AddEdits(chain, vocab_size);
  if (IsGreedy(chain.params)) {
    Add(api.init_greedy());
  } else {
    for (const Filter filter : chain.params.chain) AddFilter(filter, chain.params);
    Add(api.init_dist(kSeed));
  }
  for (const int32_t id : chain.history) api.accept(chain_.get(), id);
}

void PeerChain::AddEdits(const Chain& chain, int32_t vocab_size) {
  const Params& params = chain.params;
  if (!params.logit_bias.empty()) {
    std::vector<PeerApi::LogitBias> biases;
    for (const sampling::LogitBias& bias : params.logit_bias)
      biases.push_back({bias.id, bias.bias});
    Add(api_->init_logit_bias(vocab_size, static_cast<int32_t>(biases.size()), biases.data()));
  }
  if (!chain.history.empty()) {
    Add(api_->init_penalties(vocab_size, static_cast<int32_t>(chain.history.size()),
                             params.repetition_penalty, params.frequency_penalty,
                             params.presence_penalty));
  }
}

void PeerChain::AddFilter(Filter filter, const Params& params) {
  switch (filter) {
    case Filter::kTopNSigma:
      if (params.top_n_sigma > 0) {
        Add(api_->init_top_n_sigma(static_cast<float>(params.top_n_sigma)));
      }
      break;
    case Filter::kTypicalP:
      if (params.typical_p < 1) {
        Add(api_->init_typical(static_cast<float>(params.typical_p), kMinKeep));
      }
      break;
    case Filter::kXtc:
      if (params.xtc_probability > 0) {
        Add(api_->init_xtc(static_cast<float>(params.xtc_probability),
                           static_cast<float>(params.xtc_threshold), kMinKeep, kSeed));
      }
      break;
    case Filter::kTemperature:
      if (params.temperature != 1) Add(api_->init_temp(static_cast<float>(params.temperature)));
      break;
    case Filter::kTopK:
      if (params.top_k > 0) Add(api_->init_top_k(params.top_k));
      break;
    case Filter::kTopP:
      if (params.top_p < 1) Add(api_->init_top_p(static_cast<float>(params.top_p), kMinKeep));
      break;
    case Filter::kMinP:
      if (params.min_p > 0) Add(api_->init_min_p(static_cast<float>(params.min_p), kMinKeep));
      break;
    default:  // no chain here uses it
      break;
  }
}

int32_t PeerChain::Sample(std::span<const float> logits, std::vector<PeerApi::TokenData>& tokens) {
  tokens.resize(logits.size());
  for (size_t i = 0; i < logits.size(); ++i) tokens[i] = {static_cast<int32_t>(i), logits[i], 0};
  PeerApi::TokenDataArray array = {tokens.data(), tokens.size(), -1, false};
  api_->apply(chain_.get(), &array);
  return array.data[array.selected].id;
}

}  // namespace tokendraw::bench
