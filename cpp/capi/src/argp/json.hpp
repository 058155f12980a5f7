/// The JSON file of a program's flags. Only its source sees the JSON library.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace pydoca::capi::argp {

/// The text of an object.
struct JsonObject {
  std::string text;
};
/// A whole number that 64 bits with a sign do not have: its digits, or "a number of more than 64 bits", as the JSON
/// library keeps no more of such a one.
struct JsonLarge {
  std::string written;
};
/// A value that no flag takes, such as "a fraction".
struct JsonOther {
  std::string what;
};
using JsonValue = std::variant<bool, std::int64_t, std::string, JsonObject, JsonLarge, JsonOther>;

/// A member of one of the file's sections.
struct JsonMember {
  bool is_general = false;  ///< a member of doca_general_flags
  std::string name;
  bool is_array = false;
  std::vector<JsonValue> values;  ///< those of the array, or one
};

/// The members in the order of the file. Throws io_failed for a file that cannot be read, that is not JSON, or that
/// has not the form of doca_argp.h, and invalid_value for a name that is repeated.
std::vector<JsonMember> read_json(const std::string& path);

/// Throws invalid_value unless the text is a JSON object.
void require_json_object(std::string_view text);

}  // namespace pydoca::capi::argp
