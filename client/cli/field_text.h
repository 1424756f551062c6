// A protobuf field from the text of a flag, by reflection.
#ifndef TOKENDRAW_CLIENT_CLI_FIELD_TEXT_H_
#define TOKENDRAW_CLIENT_CLI_FIELD_TEXT_H_

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <string>

#include "absl/status/status.h"

namespace tokendraw::cli {

// What the text of a field looks like, such as "NUMBER", "RAW|PROCESSED" or "ID:BIAS,..."; empty
// for bool. The field is a number, bool or enum, or repeated of those, or repeated messages of
// numbers.
std::string FieldSyntax(const google::protobuf::FieldDescriptor& field);

// Sets (or appends to) `field` of `message`. Numbers take the whole text, "inf" and "nan" too;
// enums take the value's name in any case, with or without its prefix; repeated fields a comma
// list, which may be empty; messages their numbers with ':' between. INVALID_ARGUMENT, which does
// not name the field, if the text is anything else or a number does not fit the type.
absl::Status SetFieldFromText(const std::string& text,
                              const google::protobuf::FieldDescriptor& field,
                              google::protobuf::Message& message);

}  // namespace tokendraw::cli

#endif  // TOKENDRAW_CLIENT_CLI_FIELD_TEXT_H_
