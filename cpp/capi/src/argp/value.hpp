/// The values of flags, of the flags' types.
#pragma once

#include "argp/flag.hpp"
#include "argp/json.hpp"

#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace pydoca::capi::argp {

using Value = std::variant<bool, int, std::string>;

/// A flag that the user has given, once.
struct Given {
  const Flag* flag = nullptr;
  std::string place;  ///< where the user finds it: "-d", "flags.json: device"
  Value value;
};

/// The value that a text of the command line stands for, of a flag that takes one. Throws invalid_value, naming place.
Value value_of(const Flag& flag, const std::string& place, std::string_view text);

/// That of a JSON file.
Value value_of(const Flag& flag, const std::string& place, const JsonValue& json);

/// Calls the flag's callback. Throws what it answers.
void call(const Given& given, void* config);

}  // namespace pydoca::capi::argp
