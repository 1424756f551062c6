#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "service/convert.h"

namespace tokendraw {
namespace {

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

// The shape of a tensor or shard, whose members have been checked to be positive.
struct Shape {
  int64_t rows;
  int64_t columns;
  int64_t stride;

  int64_t elements() const { return rows * stride; }
  size_t row_bytes(int64_t element_size) const {
    return static_cast<size_t>(columns * element_size);
  }
  size_t stride_bytes(int64_t element_size) const {
    return static_cast<size_t>(stride * element_size);
  }
  std::string ToString() const {
    return absl::StrCat("row_count ", rows, " x row_stride ", stride);
  }
};

// Of payloads that are floats themselves.
void CheckFloatType(v1::DataType type, const char* payload, Violations& violations) {
  if (type == v1::DATA_TYPE_UNSPECIFIED || type == v1::DATA_TYPE_F32) return;
  violations.Add("logits.data_type",
                 absl::StrCat("data_type of ", payload, " must be DATA_TYPE_F32"));
}

// Turns payloads into parts of a tensor.
class PartConverter {
 public:
  PartConverter(v1::DataType type, SharedMemory* shared_memory, Violations& violations)
      : proto_type_(type),
        type_(ToDataType(type)),
        shared_memory_(shared_memory),
        violations_(violations) {}

  // `Message` is a LogitsTensor or a VocabularyShard.
  template <typename Message>
  void Convert(const Message& message, const std::string& path, const Shape& shape,
               const Fragments& inline_bytes, Tensor& tensor) {
    if (message.has_values()) return ConvertValues(message.values(), path, shape, tensor);
    if (message.payload_case() == Message::PAYLOAD_NOT_SET) {
      return violations_.Add(path + ".payload", "one of inline, shared_memory, values must be set");
    }
    if (!type_) {
      return violations_.Add("logits.data_type",
                             "data_type must be DATA_TYPE_F32, DATA_TYPE_F16 or DATA_TYPE_BF16");
    }
    const auto element_size = static_cast<int64_t>(sampling::ElementSize(*type_));
    if (message.has_shared_memory()) {
      return ConvertSharedMemory(message.shared_memory(), path, shape, element_size, tensor);
    }
    int64_t bytes = 0;
    for (const auto& fragment : inline_bytes) bytes += static_cast<int64_t>(fragment.size());
    if (bytes != shape.elements() * element_size) {
      return violations_.Add(
          path + ".inline",
          absl::StrCat("expected ", shape.elements() * element_size, " bytes (", shape.ToString(),
                       " x ", element_size, " bytes), got ", bytes));
    }
    tensor.AddPart(inline_bytes, shape.row_bytes(element_size), shape.stride_bytes(element_size));
  }

  // Bytes of all that lies in shared memory.
  int64_t shared_bytes() const { return shared_bytes_; }

 private:
  void ConvertValues(const v1::FloatValues& message, const std::string& path, const Shape& shape,
                     Tensor& tensor) {
    CheckFloatType(proto_type_, "values", violations_);
    const auto& values = message.values();
    if (values.size() != shape.elements()) {
      return violations_.Add(path + ".values",
                             absl::StrCat("expected ", shape.elements(), " values (",
                                          shape.ToString(), "), got ", values.size()));
    }
    const std::span floats(values.data(), static_cast<size_t>(values.size()));
    tensor.AddPart({std::as_bytes(floats)}, shape.row_bytes(sizeof(float)),
                   shape.stride_bytes(sizeof(float)));
  }

  void ConvertSharedMemory(const v1::SharedMemory& place, const std::string& path,
                           const Shape& shape, int64_t element_size, Tensor& tensor) {
    const int64_t bytes = shape.elements() * element_size;
    shared_bytes_ += bytes;
    std::shared_ptr<const Mapping> mapping = shared_memory_->Map(
        place.name(), place.offset(), bytes, path + ".shared_memory", violations_);
    if (mapping == nullptr) return;
    tensor.AddPart(std::move(mapping), static_cast<size_t>(place.offset()),
                   shape.row_bytes(element_size), shape.stride_bytes(element_size));
  }

  const v1::DataType proto_type_;
  const std::optional<sampling::DataType> type_;
  SharedMemory* const shared_memory_;
  Violations& violations_;
  int64_t shared_bytes_ = 0;
};

void ConvertShards(const ReceivedRequest& request, PartConverter& converter, Tensor& tensor,
                   Violations& violations) {
  const v1::LogitsTensor& logits = request.message().logits();
  const v1::VocabularyShards& shards = logits.shards();
  if (shards.shards_size() < 1 || shards.shards_size() > kMostShards) {
    return violations.Add(
        "logits.shards.shards",
        absl::StrCat("expected 1 to ", kMostShards, " shards, got ", shards.shards_size()));
  }
  int64_t end = 0;
  for (int i = 0; i < shards.shards_size(); ++i) {
    const v1::VocabularyShard& shard = shards.shards(i);
    const std::string path = absl::StrCat("logits.shards.shards[", i, "]");
    if (shard.offset() != end) {
      violations.Add(path + ".offset", absl::StrCat("offset must be where the shard before ends, ",
                                                    end, ", got ", shard.offset()));
    }
    const bool is_stride_bad = shard.row_stride() != 0 && shard.row_stride() < shard.width();
    if (shard.width() < 1) violations.Add(path + ".width", "width must be >= 1");
    if (is_stride_bad) violations.Add(path + ".row_stride", "row_stride must be 0 or >= width");
    if (shard.width() < 1 || is_stride_bad) return;
    end += shard.width();
    const int32_t stride = shard.row_stride() == 0 ? shard.width() : shard.row_stride();
    converter.Convert(shard, path, {logits.row_count(), shard.width(), stride},
                      request.InlineBytes(i), tensor);
  }
  if (end != logits.vocab_size()) {
    violations.Add("logits.shards.shards",
                   absl::StrCat("expected widths that add up to vocab_size ", logits.vocab_size(),
                                ", got ", end));
  }
}

}  // namespace

bool UsesSharedMemory(const v1::LogitsTensor& logits) {
  return logits.has_shared_memory() ||
         std::ranges::any_of(logits.shards().shards(), &v1::VocabularyShard::has_shared_memory);
}

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

int64_t ConvertTensor(const ReceivedRequest& request, SharedMemory* shared_memory, Batch& batch,
                      Violations& violations) {
  const v1::LogitsTensor& logits = request.message().logits();
  PartConverter converter(logits.data_type(), shared_memory, violations);
  if (const auto type = ToDataType(logits.data_type())) batch.data_type = *type;
  if (logits.has_shards()) {
    ConvertShards(request, converter, batch.tensor, violations);
  } else {
    static const Fragments kNone;
    const int64_t stride = logits.row_stride() == 0 ? logits.vocab_size() : logits.row_stride();
    converter.Convert(logits, "logits", {logits.row_count(), logits.vocab_size(), stride},
                      logits.has_inline_() ? request.InlineBytes() : kNone, batch.tensor);
  }
  return converter.shared_bytes();
}

void ConvertCandidates(const v1::LogitsTensor& logits, Batch& batch, Violations& violations) {
  CheckFloatType(logits.data_type(), "candidates", violations);
  const auto& rows = logits.candidates().rows();
  if (rows.size() != logits.row_count()) {
    return violations.Add(
        "logits.candidates.rows",
        absl::StrCat("expected row_count ", logits.row_count(), " rows, got ", rows.size()));
  }
  for (int i = 0; i < rows.size(); ++i) {
    const v1::CandidateRow& row = rows[i];
    const std::string path = absl::StrCat("logits.candidates.rows[", i, "]");
    if (row.ids().empty()) violations.Add(path + ".ids", "there must be at least one id");
    if (row.logits_size() != row.ids_size()) {
      violations.Add(path + ".logits",
                     absl::StrCat("expected ", row.ids_size(), " logits, one for each id, got ",
                                  row.logits_size()));
    }
    int32_t before = -1;
    for (int k = 0; k < row.ids_size(); before = row.ids(k), ++k) {
      if (row.ids(k) > before && row.ids(k) < logits.vocab_size()) continue;
      violations.Add(absl::StrCat(path, ".ids[", k, "]"),
                     absl::StrCat("ids must be ascending and in [0, ", logits.vocab_size(),
                                  "), got ", row.ids(k)));
      break;
    }
    const auto given = [](bool has, double value) {
      return has ? std::optional(value) : std::nullopt;
    };
    sampling::CandidateRow& candidates = batch.rows[i].input.candidates.emplace();
    candidates.ids = {row.ids().data(), static_cast<size_t>(row.ids_size())};
    candidates.logits = {row.logits().data(), static_cast<size_t>(row.logits_size())};
    candidates.log_sum_exp = given(row.has_log_sum_exp(), row.log_sum_exp());
    candidates.mean_logit = given(row.has_mean_logit(), row.mean_logit());
    if (row.has_max()) candidates.max = row.max();
    candidates.logit_mean = given(row.has_logit_mean(), row.logit_mean());
    candidates.logit_stddev = given(row.has_logit_stddev(), row.logit_stddev());
    candidates.sum_squared_probability =
        given(row.has_sum_squared_probability(), row.sum_squared_probability());
  }
}

}  // namespace tokendraw
