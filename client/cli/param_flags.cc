#include "client/cli/param_flags.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "client/cli/field_text.h"
#include "client/cli/param_help.h"

namespace tokendraw::cli {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

struct FlagField {
  std::string flag;
  const FieldDescriptor* parent;  // of the message that holds `field`; null at the top
  const FieldDescriptor* field;
};

std::vector<FlagField> ParamFields() {
  std::vector<FlagField> fields;
  const Descriptor& params = *v1::SamplingParams::descriptor();
  for (int i = 0; i < params.field_count(); ++i) {
    const FieldDescriptor* field = params.field(i);
    if (field->is_repeated() || field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) {
      fields.push_back({field->name(), nullptr, field});
      continue;
    }
    const Descriptor& inner = *field->message_type();
    for (int j = 0; j < inner.field_count(); ++j) {
      fields.push_back({j == 0 ? field->name() : inner.field(j)->name(), field, inner.field(j)});
    }
  }
  return fields;
}

std::vector<FlagField> RowFields() {
  std::vector<FlagField> fields;
  for (const char* name : {"seed", "position", "sample_count", "prompt_ids", "output_ids"}) {
    fields.push_back({name, nullptr, v1::RowSpec::descriptor()->FindFieldByName(name)});
  }
  return fields;
}

std::vector<Flag> MakeFlags(const std::vector<FlagField>& fields) {
  std::vector<Flag> flags;
  for (const FlagField& field : fields) {
    const FlagText text = TextOfFlag(field.flag);
    flags.push_back(
        {field.flag, FieldSyntax(*field.field), text.range, text.unset, text.help, false});
  }
  return flags;
}

absl::Status SetFields(const std::vector<FlagField>& fields, const Arguments& arguments,
                       Message& message) {
  for (const FlagField& field : fields) {
    const std::optional<std::string> text = arguments.Get(field.flag);
    if (!text) continue;
    Message& holder = field.parent == nullptr
                          ? message
                          : *message.GetReflection()->MutableMessage(&message, field.parent);
    if (absl::Status status = SetFieldFromText(*text, *field.field, holder); !status.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--", field.flag, ": ", std::string(status.message())));
    }
  }
  return absl::OkStatus();
}

}  // namespace

std::vector<Flag> ParamFlags() { return MakeFlags(ParamFields()); }

absl::StatusOr<v1::SamplingParams> ParamsFromFlags(const Arguments& arguments) {
  v1::SamplingParams params;
  if (absl::Status set = SetFields(ParamFields(), arguments, params); !set.ok()) return set;
  return params;
}

std::vector<Flag> RowFlags() { return MakeFlags(RowFields()); }

absl::StatusOr<v1::RowSpec> RowFromFlags(const Arguments& arguments) {
  v1::RowSpec row;
  if (absl::Status set = SetFields(RowFields(), arguments, row); !set.ok()) return set;
  return row;
}

}  // namespace tokendraw::cli
