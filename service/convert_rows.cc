#include <algorithm>
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
  if (params != nullptr && (params->penalty_last_n > 0 || params->dry_multiplier != 0)) {
    violations.Add(
        name, "token_counts have no order: penalty_last_n > 0 and DRY need prompt_ids, output_ids");
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
