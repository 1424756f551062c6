// The samplers of llama.cpp, from its shared library.
#ifndef TOKENDRAW_TESTS_BENCH_PEER_H_
#define TOKENDRAW_TESTS_BENCH_PEER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tests/bench/chains.h"

namespace tokendraw::bench {

// The part of llama.h, as of the release that run.sh pins, that is called.
struct PeerApi {
  struct Sampler;
  struct ChainParams {
    bool no_perf;
  };
  struct TokenData {
    int32_t id;
    float logit;
    float p;
  };
  struct TokenDataArray {
    TokenData* data;
    size_t size;
    int64_t selected;
    bool sorted;
  };
  struct LogitBias {
    int32_t token;
    float bias;
  };

  // Ends the program if `path` is not that library.
  explicit PeerApi(const std::string& path);

  Sampler* (*chain_init)(ChainParams);
  void (*chain_add)(Sampler* chain, Sampler* sampler);  // owned by the chain from now on
  void (*apply)(Sampler*, TokenDataArray*);
  void (*accept)(Sampler*, int32_t token);
  void (*free)(Sampler*);
  Sampler* (*init_greedy)();
  Sampler* (*init_dist)(uint32_t seed);
  Sampler* (*init_top_k)(int32_t k);
  Sampler* (*init_top_p)(float p, size_t min_keep);
  Sampler* (*init_min_p)(float p, size_t min_keep);
  Sampler* (*init_typical)(float p, size_t min_keep);
  Sampler* (*init_temp)(float temperature);
  Sampler* (*init_xtc)(float p, float threshold, size_t min_keep, uint32_t seed);
  Sampler* (*init_top_n_sigma)(float n);
  Sampler* (*init_penalties)(int32_t vocab_size, int32_t last_n, float repeat, float frequency,
                             float presence);
  Sampler* (*init_logit_bias)(int32_t vocab_size, int32_t count, const LogitBias* biases);
};

// Our chain as theirs: the same filters in the same order. It has no allowed mask; that part of a
// chain is left out.
class PeerChain {
 public:
  PeerChain(const PeerApi& api, const Chain& chain, int32_t vocab_size);

  // Applying changes the array, so that the copy of the logits into `tokens` is a part of it.
  int32_t Sample(std::span<const float> logits, std::vector<PeerApi::TokenData>& tokens);

 private:
  void Add(PeerApi::Sampler* sampler) { api_->chain_add(chain_.get(), sampler); }
  void AddEdits(const Chain& chain, int32_t vocab_size);
  void AddFilter(sampling::Filter filter, const sampling::Params& params);

  const PeerApi* api_;
  std::unique_ptr<PeerApi::Sampler, void (*)(PeerApi::Sampler*)> chain_;
};

}  // namespace tokendraw::bench

#endif  // TOKENDRAW_TESTS_BENCH_PEER_H_
