#include "client/cli/field_text.h"

#include <cstdint>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/cli/number.h"

namespace tokendraw::cli {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumDescriptor;
using google::protobuf::EnumValueDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

constexpr char kUnspecified[] = "UNSPECIFIED";

// "FILTER_" of FILTER_UNSPECIFIED: house style gives each enum such a zero.
std::string EnumPrefix(const EnumDescriptor& type) {
  std::string zero = type.FindValueByNumber(0)->name();
  return zero.substr(0, zero.size() - (sizeof(kUnspecified) - 1));
}

std::string EnumChoices(const EnumDescriptor& type, const char* separator) {
  const std::string prefix = EnumPrefix(type);
  std::string choices;
  for (int i = 0; i < type.value_count(); ++i) {
    if (type.value(i)->number() == 0) continue;
    absl::StrAppend(&choices, choices.empty() ? "" : separator,
                    type.value(i)->name().substr(prefix.size()));
  }
  return choices;
}

absl::StatusOr<int> ParseEnum(const std::string& text, const EnumDescriptor& type) {
  const std::string name = absl::AsciiStrToUpper(text);
  const EnumValueDescriptor* value = type.FindValueByName(EnumPrefix(type) + name);
  if (value == nullptr) value = type.FindValueByName(name);
  if (value == nullptr || value->number() == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", text, "\" is none of ", EnumChoices(type, ", ")));
  }
  return value->number();
}

absl::StatusOr<bool> ParseBool(const std::string& text) {
  if (text == "true") return true;
  if (text == "false") return false;
  return absl::InvalidArgumentError(absl::StrCat("\"", text, "\" is neither true nor false"));
}

// Puts one value where `field` wants it: Set<Type>, or Add<Type> if it is repeated.
template <typename T, typename U>
absl::Status Put(const absl::StatusOr<T>& value, const FieldDescriptor& field, Message& message,
                 void (Reflection::*set)(Message*, const FieldDescriptor*, U) const,
                 void (Reflection::*add)(Message*, const FieldDescriptor*, U) const) {
  if (!value.ok()) return value.status();
  (message.GetReflection()->*(field.is_repeated() ? add : set))(&message, &field, *value);
  return absl::OkStatus();
}

absl::Status PutText(const std::string& text, const FieldDescriptor& field, Message& message) {
  using R = Reflection;
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return Put(ParseNumber<double>(text), field, message, &R::SetDouble, &R::AddDouble);
    case FieldDescriptor::CPPTYPE_FLOAT:
      return Put(ParseNumber<float>(text), field, message, &R::SetFloat, &R::AddFloat);
    case FieldDescriptor::CPPTYPE_INT32:
      return Put(ParseNumber<std::int32_t>(text), field, message, &R::SetInt32, &R::AddInt32);
    case FieldDescriptor::CPPTYPE_INT64:
      return Put(ParseNumber<std::int64_t>(text), field, message, &R::SetInt64, &R::AddInt64);
    case FieldDescriptor::CPPTYPE_UINT64:
      return Put(ParseNumber<std::uint64_t>(text), field, message, &R::SetUInt64, &R::AddUInt64);
    case FieldDescriptor::CPPTYPE_BOOL:
      return Put(ParseBool(text), field, message, &R::SetBool, &R::AddBool);
    case FieldDescriptor::CPPTYPE_ENUM:
      return Put(ParseEnum(text, *field.enum_type()), field, message, &R::SetEnumValue,
                 &R::AddEnumValue);
    default:
      return absl::InvalidArgumentError("has no text form");
  }
}

// Whether a message is nothing but a list, as TokenSequence is.
bool IsList(const Descriptor& type) {
  return type.field_count() == 1 && type.field(0)->is_repeated();
}

// "5:-100" into the fields of a new element, in the order of their declaration, or "5:6:7" into its
// list.
absl::Status AddMessage(const std::string& text, const FieldDescriptor& field, Message& message) {
  const Descriptor& type = *field.message_type();
  const std::vector<std::string> parts = absl::StrSplit(text, ':');
  const bool is_list = IsList(type);
  if (!is_list && static_cast<int>(parts.size()) != type.field_count()) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", text, "\" is not of the form ", FieldSyntax(field)));
  }
  Message& element = *message.GetReflection()->AddMessage(&message, &field);
  for (int i = 0; i < static_cast<int>(parts.size()); ++i) {
    const FieldDescriptor& part = *type.field(is_list ? 0 : i);
    if (absl::Status status = PutText(parts[i], part, element); !status.ok()) return status;
  }
  return absl::OkStatus();
}

std::string ValueSyntax(const FieldDescriptor& field) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL:
      return "";
    case FieldDescriptor::CPPTYPE_DOUBLE:
    case FieldDescriptor::CPPTYPE_FLOAT:
      return "NUMBER";
    case FieldDescriptor::CPPTYPE_ENUM:
      return EnumChoices(*field.enum_type(), "|");
    case FieldDescriptor::CPPTYPE_MESSAGE: {
      const Descriptor& type = *field.message_type();
      if (IsList(type)) return ValueSyntax(*type.field(0)) + ":...";
      std::string syntax;
      for (int i = 0; i < type.field_count(); ++i) {
        absl::StrAppend(&syntax, i == 0 ? "" : ":", absl::AsciiStrToUpper(type.field(i)->name()));
      }
      return syntax;
    }
    default:
      return "INTEGER";
  }
}

}  // namespace

std::string FieldSyntax(const FieldDescriptor& field) {
  return ValueSyntax(field) + (field.is_repeated() ? ",..." : "");
}

absl::Status SetFieldFromText(const std::string& text, const FieldDescriptor& field,
                              Message& message) {
  if (!field.is_repeated()) return PutText(text, field, message);
  if (text.empty()) return absl::OkStatus();
  for (const std::string& part : std::vector<std::string>(absl::StrSplit(text, ','))) {
    const bool is_message = field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
    const absl::Status status =
        is_message ? AddMessage(part, field, message) : PutText(part, field, message);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace tokendraw::cli
