#include <algorithm>
#include <cmath>
#include <random>

#include "absl/strings/str_cat.h"
#include "service/convert.h"

namespace tokendraw {
namespace {

using google::protobuf::RepeatedField;

std::span<const int32_t> CheckedHistory(const RepeatedField<int32_t>& ids, const char* name,
                                        const std::string& path, int32_t vocab_size,
                                        Violations& violations) {
  const auto bad =
      std::find_if(ids.begin(), ids.end(), [=](int32_t id) { return id < 0 || id >= vocab_size; });
  if (bad != ids.end()) {
    violations.Add(absl::StrCat(path, ".", name, "[", bad - ids.begin(), "]"),
                   absl::StrCat("id must be in [0, ", vocab_size, "), got ", *bad));
  }
  return {ids.data(), static_cast<size_t>(ids.size())};
}

// The parameter that counts cannot serve, or null.
const char* FindNeedOfOrder(const sampling::Params& params) {
  const auto is_long = [](const sampling::TokenSequence& sequence) { return sequence.size() > 1; };
  if (params.penalty_last_n > 0) return "penalty_last_n > 0";
  if (params.dry_multiplier != 0) return "DRY";
  if (params.repetition_penalty_slope != 1) return "repetition_penalty_slope";
  if (params.no_repeat_ngram_size > 0) return "no_repeat_ngram_size";
  if (std::ranges::any_of(params.bad_token_sequences, is_long)) return "bad_token_sequences";
  return nullptr;
}

std::vector<sampling::TokenCount> ConvertTokenCounts(const v1::RowSpec& spec,
                                                     const std::string& path, int32_t vocab_size,
                                                     const sampling::Params* params,
                                                     Violations& violations) {
  std::vector<sampling::TokenCount> counts;
  if (spec.token_counts().empty()) return counts;
  const std::string name = path + ".token_counts";
  if (!spec.prompt_ids().empty() || !spec.output_ids().empty()) {
    violations.Add(name, "token_counts must not stand beside prompt_ids or output_ids");
  }
  const char* const need = params != nullptr ? FindNeedOfOrder(*params) : nullptr;
  if (need != nullptr) {
    violations.Add(name, absl::StrCat("token_counts have no order: ", need,
                                      " goes by prompt_ids and output_ids"));
  }
  for (int i = 0; i < spec.token_counts_size(); ++i) {
    const v1::TokenCount& count = spec.token_counts(i);
    const std::string item = absl::StrCat(name, "[", i, "]");
    if (count.token_id() < 0 || count.token_id() >= vocab_size) {
      violations.Add(item + ".token_id", absl::StrCat("token_id must be in [0, ", vocab_size,
                                                      "), got ", count.token_id()));
    }
    if (count.count() < 0) violations.Add(item + ".count", "count must be >= 0");
    if (count.prompt_count() < 0) {
      violations.Add(item + ".prompt_count", "prompt_count must be >= 0");
    }
    counts.push_back({.token_id = count.token_id(),
                      .output_count = count.count(),
                      .prompt_count = count.prompt_count()});
  }
  const auto by_id = [](const sampling::TokenCount& a, const sampling::TokenCount& b) {
    return a.token_id < b.token_id;
  };
  std::sort(counts.begin(), counts.end(), by_id);
  for (size_t i = 1; i < counts.size(); ++i) {
    if (counts[i - 1].token_id == counts[i].token_id) {
      violations.Add(name, absl::StrCat("id ", counts[i].token_id, " must be named at most once"));
    }
  }
  return counts;
}

std::optional<std::span<const std::byte>> ConvertMask(const v1::RowSpec& spec,
                                                      const std::string& path, int32_t vocab_size,
                                                      Violations& violations) {
  if (!spec.has_allowed_mask()) return std::nullopt;
  const std::string& mask = spec.allowed_mask();
  const size_t bytes = (static_cast<size_t>(vocab_size) + 31) / 32 * 4;
  if (mask.size() != bytes) {
    violations.Add(path + ".allowed_mask",
                   absl::StrCat("expected ", bytes, " bytes (ceil(", vocab_size,
                                " / 32) words of 4 bytes), got ", mask.size()));
  }
  return std::span(reinterpret_cast<const std::byte*>(mask.data()), mask.size());
}

sampling::SamplerState ConvertState(const v1::SamplerState& proto, const std::string& path,
                                    Violations& violations) {
  sampling::SamplerState state;
  if (proto.has_mirostat_mu()) {
    state.mirostat_mu = proto.mirostat_mu();
    if (!std::isfinite(proto.mirostat_mu())) {
      violations.Add(path + ".mirostat_mu", "mirostat_mu must be finite");
    }
  }
  if (proto.has_adaptive_sum()) {
    state.adaptive_sum = proto.adaptive_sum();
    if (!(std::isfinite(proto.adaptive_sum()) && proto.adaptive_sum() >= 0)) {
      violations.Add(path + ".adaptive_sum", "adaptive_sum must be finite and >= 0.0");
    }
  }
  if (proto.has_adaptive_weight()) {
    state.adaptive_weight = proto.adaptive_weight();
    if (!(std::isfinite(proto.adaptive_weight()) && proto.adaptive_weight() >= 0)) {
      violations.Add(path + ".adaptive_weight", "adaptive_weight must be finite and >= 0.0");
    }
  }
  return state;
}

uint64_t DrawSeed() {
  static thread_local std::random_device device;
  return std::uniform_int_distribution<uint64_t>()(device);
}

}  // namespace

void ConvertRow(const v1::RowSpec& spec, const std::string& path, Batch& batch, BatchRow& row,
                Violations& violations) {
  const int32_t vocab_size = batch.vocab_size;
  const auto sets = static_cast<int64_t>(batch.params.size());
  const sampling::Params* params = nullptr;
  if (spec.params_index() < 0 || spec.params_index() >= sets) {
    violations.Add(path + ".params_index", absl::StrCat("params_index must be in [0, ", sets,
                                                        "), got ", spec.params_index()));
  } else {
    params = &batch.params[spec.params_index()];
  }
  if (spec.position() < 0) violations.Add(path + ".position", "position must be >= 0");
  if (spec.sample_count() < 0 || spec.sample_count() > sampling::kMaxSampleCount) {
    violations.Add(path + ".sample_count",
                   absl::StrCat("sample_count must be in [0, ", sampling::kMaxSampleCount, "]"));
  }
  if (spec.has_output_count()) {
    row.input.output_count = spec.output_count();
    if (spec.output_count() < 0) {
      violations.Add(path + ".output_count", "output_count must be >= 0");
    }
  }
  row.input.state = ConvertState(spec.sampler_state(), path + ".sampler_state", violations);
  row.params_index = spec.params_index();
  row.input.key = {.seed = spec.has_seed() ? spec.seed() : DrawSeed(),
                   .position = static_cast<uint64_t>(spec.position())};
  row.input.sample_count = std::max(spec.sample_count(), 1);
  row.input.history.prompt_ids =
      CheckedHistory(spec.prompt_ids(), "prompt_ids", path, vocab_size, violations);
  row.input.history.output_ids =
      CheckedHistory(spec.output_ids(), "output_ids", path, vocab_size, violations);
  batch.token_counts.push_back(ConvertTokenCounts(spec, path, vocab_size, params, violations));
  row.input.history.token_counts = batch.token_counts.back();
  row.input.allowed_mask = ConvertMask(spec, path, vocab_size, violations);
}

}  // namespace tokendraw
