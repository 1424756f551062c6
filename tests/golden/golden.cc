#include "tests/golden/golden.h"

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <string_view>

#include "sampling/sampler.h"
#include "tests/golden/rows.h"
#include "tests/golden/spec.h"

namespace tokendraw::golden {
namespace {

// Each row in each size with each of the parameters.
struct Group {
  std::vector<std::string_view> rows;
  std::vector<int32_t> sizes;
  std::vector<std::string_view> specs;
};

std::vector<Group> Groups() {
  return {
      // Every kind of row with every filter.
      {{"normal1/4",  "normal1",       "normal2",     "normal8", "normal64", "peaked",
        "certain",    "far_from_zero", "steps",       "equal",   "zeros",    "halves",
        "gap",        "sparse",        "one",         "huge",    "denormal", "tiny",
        "peaked.f16", "tiny.f16",      "halves.bf16", "gap.bf16"},
       {1000},
       {"", "temperature=0", "temperature=0.6", "top_k=40", "top_p=0.9", "min_p=0.05",
        "typical_p=0.7", "top_n_sigma=1.2", "p_less", "xtc_probability=0.6 xtc_threshold=0.03",
        "temperature=1.7 top_n_sigma=2 typical_p=0.95 top_k=60 top_p=0.97 min_p=0.01"}},
      // Every edge of the vectors, the blocks and the lists.
      {{"normal2", "halves", "peaked.f16"},
       {1, 2, 3, 15, 16, 17, 33, 255, 256, 257, 511, 4097},
       {"", "top_p=0.8 temperature=0.7", "typical_p=0.6 min_keep=2"}},
      // Combinations, in the default order and in others.
      {{"normal3", "peaked", "halves", "peaked.bf16"},
       {5000},
       {"temperature=0.8 top_k=50 top_p=0.95", "temperature=1.3 min_p=0.08 p_less",
        "top_p=0.85 min_p=0.02 min_keep=5 draws=8", "temperature=1e-6 top_p=0.5",
        "temperature=50 top_k=1000 typical_p=0.5", "top_k=1 p_less", "top_k=4999 min_p=1e-9",
        "typical_p=0.3 top_n_sigma=3 xtc_probability=1 xtc_threshold=0.01 draws=5",
        "temperature=1.5 top_k=20 xtc_probability=0.5 xtc_threshold=0.05 draws=8 "
        "chain=top_k,temperature,xtc",
        "temperature=0.5 top_p=0.9 min_p=0.1 typical_p=0.9 "
        "chain=min_p,typical_p,top_p,temperature",
        "temperature=2 p_less top_n_sigma=1.5 chain=temperature,top_n_sigma,p_less",
        "top_p=0.99 typical_p=0.8 top_k=300 min_p=0.001 temperature=1.1 p_less "
        "chain=top_p,temperature,top_k,typical_p,min_p,p_less min_keep=3",
        "xtc_probability=0.9 xtc_threshold=0.02 protected top_p=0.95 draws=6 chain=xtc,top_p",
        "top_p=0.5 min_p=0.5 chain=temperature"}},
      // Edits.
      {{"normal2", "peaked", "gap.f16"},
       {3001},
       {"bias min_p=0.01", "mask", "bias mask top_p=0.9", "bias mask temperature=0",
        "history repetition_penalty=1.3 min_p=0.001",
        "history repetition_penalty=0.8 penalty_last_n=20 top_k=9",
        "history frequency_penalty=0.4 presence_penalty=1.1 min_p=0.001",
        "history frequency_penalty=-0.3 output_scope top_k=100",
        "counts repetition_penalty=1.1 presence_penalty=-2 typical_p=0.9",
        "history dry_multiplier=0.8 min_p=0.01",
        "history dry_multiplier=3 breaker dry_base=1.2 top_p=0.99",
        "history dry_multiplier=2 dry_allowed_length=4 dry_penalty_last_n=50 min_p=0.02",
        "bias mask history repetition_penalty=1.05 dry_multiplier=0.5 frequency_penalty=0.1 "
        "temperature=0.9 top_k=80 top_p=0.98 xtc_probability=0.5 draws=8"}},
      // Vocabularies of real models.
      {{"normal2", "peaked.bf16", "halves"},
       {32000, 49152, 151936},
       {"draws=2", "top_p=0.9", "typical_p=0.5 temperature=0.8", "top_n_sigma=1.5 p_less top_k=500",
        "xtc_probability=0.5 xtc_threshold=0.02 min_p=0.05",
        "temperature=1.4 mask top_k=64 top_p=0.95"}},
      {{"normal3.f16", "peaked"}, {262144}, {"draws=1", "top_p=0.99 temperature=1.2"}},
      // Rows without a token.
      {{"nan", "infinite.f16", "masked", "masked.bf16"}, {1000}, {"top_p=0.9"}},
      // The samplers that some engines have.
      {{"normal1", "normal8", "peaked", "steps", "equal", "gap", "halves", "peaked.f16"},
       {1000, 5000},
       {"dynatemp_range=0.4 dynatemp_exponent=1.5", "smoothing_factor=0.3 smoothing_curve=2",
        "p_less_norm", "top_h=0.4", "top_a=0.2", "tfs_z=0.9", "epsilon_cutoff=0.001",
        "eta_cutoff=0.002", "mirostat=1 mirostat_tau=3", "mirostat=2 mirostat_tau=3",
        "adaptive_target=0.3 draws=4",
        "temperature=1.2 smoothing_factor=0.1 tfs_z=0.99 top_a=0.01 epsilon_cutoff=1e-5 "
        "mirostat=2 adaptive_target=0.5 "
        "chain=tfs_z,smoothing,epsilon_cutoff,temperature,top_a,mirostat,adaptive_p"}},
      {{"normal2", "peaked"},
       {3001, 151936},
       {"history no_repeat_ngram_size=4", "history sequences dry_multiplier=1 top_k=50",
        "history stop min_tokens=80",
        "history allowed repetition_penalty=1.4 "
        "repetition_penalty_slope=3 penalty_last_n=60",
        "smoothing_factor=0.5 top_h=0.6", "tfs_z=0.97 temperature=0.9", "mirostat=1"}},
      {{"normal2", "peaked", "steps"},
       {3001},
       {"profile=1 history", "profile=2 history", "profile=3 history temperature=0.7",
        "profile=4 history typical_p=0.9", "profile=5 history repetition_penalty=1.2 top_k=20",
        "profile=6 history typical_p=0.8 xtc_probability=0.7 xtc_threshold=0.02"}},
  };
}

std::string Join(const std::vector<int32_t>& values) {
  std::string text;
  for (const int32_t value : values) text += (text.empty() ? "" : " ") + std::to_string(value);
  return text;
}

std::string Error(const sampling::RowResult& result) {
  if (result.error == sampling::RowErrorCode::kNoCandidate) return "no candidate";
  return "not finite: " + std::to_string(result.error_token);
}

// What tokens.txt says of the sampled row.
std::string Outcome(sampling::Sampler& sampler, sampling::Params params,
                    const sampling::RowInput& input) {
  const sampling::RowResult bare = sampler.Sample(params, input);
  params.return_kept = true;
  const sampling::RowResult detailed = sampler.Sample(params, input);
  if (bare.error != sampling::RowErrorCode::kNone) return Error(bare);
  std::vector<int32_t> tokens, detailed_tokens, counts;
  Hash kept;
  for (const sampling::Draw& draw : bare.draws) tokens.push_back(draw.token_id);
  for (const sampling::Draw& draw : detailed.draws) {
    detailed_tokens.push_back(draw.token_id);
    counts.push_back(draw.kept_count);
    for (const int32_t id : draw.kept_ids) kept.Add(static_cast<uint32_t>(id));
  }
  char hash[17];
  std::snprintf(hash, sizeof(hash), "%016" PRIx64, kept.value());
  std::string text = Join(tokens);
  if (detailed_tokens != tokens) text += " but with kept ids " + Join(detailed_tokens);
  return text + " | " + Join(counts) + " | " + hash;
}

// A key of its own for each line, wherever the line stands.
sampling::RandomKey KeyOf(std::string_view name, std::string_view spec) {
  Hash hash;
  hash.Add(name);
  hash.Add(spec);
  Random random(hash.value());
  const uint64_t seed = random.Next(), position = random.Next();
  return {.seed = seed, .position = position >> (seed % 64)};
}

}  // namespace

std::vector<std::string> Lines() {
  std::vector<std::string> lines;
  sampling::Sampler sampler;
  for (const Group& group : Groups()) {
    for (const std::string_view recipe : group.rows) {
      for (const int32_t size : group.sizes) {
        const Row row = MakeRow(recipe, size);
        const std::string name = std::string(recipe) + " " + std::to_string(size);
        for (const std::string_view text : group.specs) {
          const sampling::RandomKey key = KeyOf(name, text);
          const Spec spec = ParseSpec(text, size);
          lines.push_back(name + " | " + std::string(text) + " | " + std::to_string(key.seed) +
                          " " + std::to_string(key.position) + " | " +
                          Outcome(sampler, spec.params, spec.Input(row.View(), key)));
        }
      }
    }
  }
  return lines;
}

}  // namespace tokendraw::golden
