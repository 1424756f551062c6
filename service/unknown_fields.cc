#include <google/protobuf/unknown_field_set.h>

#include "absl/strings/str_cat.h"
#include "service/convert.h"

namespace tokendraw {
namespace {

std::string Join(const std::string& path, const std::string& name) {
  return path.empty() ? name : absl::StrCat(path, ".", name);
}

}  // namespace

// A newer client must not lose a filter in silence: what this version does not know, it refuses.
void FindUnknownFields(const google::protobuf::Message& message, const std::string& path,
                       Violations& violations) {
  const auto* reflection = message.GetReflection();
  const auto& unknown = reflection->GetUnknownFields(message);
  for (int i = 0; i < unknown.field_count(); ++i) {
    violations.Add(Join(path, absl::StrCat(unknown.field(i).number())),
                   absl::StrCat("unknown field of ", message.GetDescriptor()->name(),
                                "; this server is older than the client"));
  }
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  reflection->ListFields(message, &fields);
  for (const auto* field : fields) {
    if (field->cpp_type() != google::protobuf::FieldDescriptor::CPPTYPE_MESSAGE) continue;
    if (!field->is_repeated()) {
      FindUnknownFields(reflection->GetMessage(message, field), Join(path, field->name()),
                        violations);
      continue;
    }
    for (int i = 0; i < reflection->FieldSize(message, field); ++i) {
      FindUnknownFields(reflection->GetRepeatedMessage(message, field, i),
                        Join(path, absl::StrCat(field->name(), "[", i, "]")), violations);
    }
  }
}

}  // namespace tokendraw
