#include <algorithm>
#include <limits>
#include <random>

#include "absl/strings/str_cat.h"
#include "service/convert.h"

namespace tokendraw {
namespace {

using google::protobuf::RepeatedField;

struct Tensor {
  const std::byte* data = nullptr;
  sampling::DataType type = sampling::DataType::kF32;
  int64_t row_bytes = 0;  // from one row's start to the next one's
  std::shared_ptr<const Mapping> mapping;
};

std::optional<sampling::DataType> ToDataType(v1::DataType type) {
  switch (type) {
    case v1::DATA_TYPE_F32:
      return sampling::DataType::kF32;
    case v1::DATA_TYPE_F16:
      return sampling::DataType::kF16;
    case v1::DATA_TYPE_BF16:
      return sampling::DataType::kBF16;
    default:
      return std::nullopt;
  }
}

// The payload's shape, checked to be positive before anything is multiplied with it.
bool CheckShape(const v1::LogitsTensor& logits, Violations& violations) {
  const size_t before = violations.count();
  if (logits.vocab_size() < 1) {
    violations.Add("logits.vocab_size", "vocab_size must be >= 1");
  }
  if (logits.row_count() < 1) {
    violations.Add("logits.row_count", "row_count must be >= 1");
  }
  if (logits.row_stride() != 0 && logits.row_stride() < logits.vocab_size()) {
    violations.Add("logits.row_stride", "row_stride must be 0 or >= vocab_size");
  }
  return violations.count() == before;
}

// `logits` has passed CheckShape and holds at most MessageLimits::max_rows rows.
Tensor ConvertTensor(const v1::LogitsTensor& logits, SharedMemory* shared_memory,
                     Violations& violations) {
  const int64_t stride = logits.row_stride() == 0 ? logits.vocab_size() : logits.row_stride();
  const int64_t elements = logits.row_count() * stride;
  const std::string shape =
      absl::StrCat("row_count ", logits.row_count(), " x row_stride ", stride);
  Tensor tensor;
  if (logits.payload_case() == v1::LogitsTensor::kValues) {
    if (logits.data_type() != v1::DATA_TYPE_UNSPECIFIED &&
        logits.data_type() != v1::DATA_TYPE_F32) {
      violations.Add("logits.data_type", "data_type of values must be DATA_TYPE_F32");
    }
    const RepeatedField<float>& values = logits.values().values();
    if (values.size() != elements) {
      violations.Add("logits.values", absl::StrCat("expected ", elements, " values (", shape,
                                                   "), got ", values.size()));
    }
    tensor.data = reinterpret_cast<const std::byte*>(values.data());
    tensor.row_bytes = stride * static_cast<int64_t>(sizeof(float));
    return tensor;
  }
  if (logits.payload_case() == v1::LogitsTensor::PAYLOAD_NOT_SET) {
    violations.Add("logits.payload", "one of inline, shared_memory, values must be set");
    return tensor;
  }
  const std::optional<sampling::DataType> type = ToDataType(logits.data_type());
  if (!type) {
    violations.Add("logits.data_type",
                   "data_type must be DATA_TYPE_F32, DATA_TYPE_F16 or DATA_TYPE_BF16");
    return tensor;
  }
  const auto element_size = static_cast<int64_t>(sampling::ElementSize(*type));
  tensor.type = *type;
  tensor.row_bytes = stride * element_size;
  if (logits.has_shared_memory()) {
    const v1::SharedMemory& place = logits.shared_memory();
    tensor.mapping =
        shared_memory->Map(place.name(), place.offset(), elements * element_size, violations);
    if (tensor.mapping != nullptr) tensor.data = tensor.mapping->bytes().data() + place.offset();
    return tensor;
  }
  const auto bytes = static_cast<int64_t>(logits.inline_().size());
  if (bytes != elements * element_size) {
    violations.Add("logits.inline",
                   absl::StrCat("expected ", elements * element_size, " bytes (", shape, " x ",
                                element_size, " bytes), got ", bytes));
  }
  tensor.data = reinterpret_cast<const std::byte*>(logits.inline_().data());
  return tensor;
}

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

void ConvertRow(const v1::RowSpec& spec, const std::string& path, int32_t vocab_size, Batch& batch,
                BatchRow& row, Violations& violations) {
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

}  // namespace

void CheckValidation(v1::Validation value, Violations& violations) {
  if (!v1::Validation_IsValid(value)) {
    violations.Add("validation", absl::StrCat("unknown validation ", value));
  }
}

absl::StatusOr<Batch> ConvertRequest(const v1::SampleTokensRequest& request,
                                     const MessageLimits& limits, SharedMemory* shared_memory) {
  const v1::LogitsTensor& logits = request.logits();
  if (logits.has_candidates()) {
    return absl::UnimplementedError("logits.candidates: this version does not take candidates");
  }
  if (logits.has_shards()) {
    return absl::UnimplementedError("logits.shards: this version does not take shards");
  }
  if (logits.has_shared_memory() && shared_memory == nullptr) {
    return absl::UnimplementedError("logits.shared_memory: this server runs without --shm_dir");
  }
  if (logits.row_count() > limits.max_rows) {
    return absl::ResourceExhaustedError(absl::StrCat("logits.row_count: ", logits.row_count(),
                                                     " is over max_rows ", limits.max_rows));
  }
  Violations violations;
  FindUnknownFields(request, "", violations);
  CheckValidation(request.validation(), violations);
  if (request.timeout_ms() < 0) violations.Add("timeout_ms", "timeout_ms must be >= 0");

  const int32_t vocab_size = logits.vocab_size();
  const int32_t id_limit = vocab_size < 1 ? std::numeric_limits<int32_t>::max() : vocab_size;
  Batch batch;
  batch.params.resize(std::max(request.params_size(), 1));
  for (int i = 0; i < request.params_size(); ++i) {
    ConvertParams(request.params(i), absl::StrCat("params[", i, "]"), request.validation(),
                  id_limit, batch.params[i], violations);
  }
  // What follows multiplies with the shape.
  if (!CheckShape(logits, violations)) return violations.ToStatus();
  const Tensor tensor = ConvertTensor(logits, shared_memory, violations);
  if (const int64_t bytes = tensor.row_bytes * logits.row_count();
      logits.has_shared_memory() && bytes > limits.max_shared_bytes) {
    return absl::ResourceExhaustedError(absl::StrCat("logits.shared_memory: ", bytes,
                                                     " bytes are over max_queued_bytes ",
                                                     limits.max_shared_bytes));
  }
  if (request.rows_size() != 0 && request.rows_size() != logits.row_count()) {
    violations.Add("rows", absl::StrCat("expected 0 or row_count ", logits.row_count(),
                                        " rows, got ", request.rows_size()));
  }
  batch.mapping = tensor.mapping;
  batch.rows.resize(logits.row_count());
  batch.token_counts.reserve(logits.row_count());
  int64_t draws = 0;
  for (int32_t i = 0; i < logits.row_count(); ++i) {
    BatchRow& row = batch.rows[i];
    const bool named = i < request.rows_size();
    ConvertRow(named ? request.rows(i) : v1::RowSpec::default_instance(),
               absl::StrCat("rows[", i, "]"), vocab_size, batch, row, violations);
    // Without data there is a violation.
    row.input.logits = {
        .data = tensor.data == nullptr ? nullptr : tensor.data + i * tensor.row_bytes,
        .type = tensor.type,
        .vocab_size = vocab_size};
    draws += row.input.sample_count;
  }
  if (violations.count() > 0) return violations.ToStatus();
  if (draws > limits.max_draws) {
    return absl::ResourceExhaustedError(
        absl::StrCat("rows: ", draws, " draws are over max_draws ", limits.max_draws));
  }
  return batch;
}

}  // namespace tokendraw
