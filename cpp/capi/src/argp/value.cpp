#include "argp/value.hpp"

#include "pydoca/status.hpp"

#include "argp/answer.hpp"

#include <array>
#include <charconv>
#include <limits>
#include <optional>
#include <utility>

namespace pydoca::capi::argp {
namespace {

[[noreturn]] void refuse(const std::string& place, const std::string& why) {
  throw Error(Status::invalid_value, place + ": " + why);
}

std::string wanted(const Flag& flag) {
  constexpr std::array names{"a value", "a text", "a whole number", "true or false", "a JSON object"};
  return names.at(static_cast<std::size_t>(flag.type));
}

[[noreturn]] void refuse_type(const Flag& flag, const std::string& place, const std::string& given) {
  refuse(place, "it takes " + wanted(flag) + ", not " + given);
}

/// written: the number as the user has written it.
int in_range(const std::string& place, std::int64_t number, std::string_view written) {
  if (number < std::numeric_limits<int>::min() || number > std::numeric_limits<int>::max()) {
    refuse(place, std::string(written) + " is beyond the range of an int");
  }
  return static_cast<int>(number);
}

/// Decimal, or hexadecimal behind 0x, with a sign. A larger number than 32 bits have is some number beyond them.
std::optional<std::int64_t> number_of(std::string_view text) {
  const bool is_negative = !text.empty() && text.front() == '-';
  if (!text.empty() && (text.front() == '-' || text.front() == '+')) {
    text.remove_prefix(1);
  }
  const bool is_hexadecimal = text.starts_with("0x") || text.starts_with("0X");
  if (is_hexadecimal) {
    text.remove_prefix(2);
  }
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, is_hexadecimal ? 16 : 10);
  if (error == std::errc::invalid_argument || end != text.data() + text.size()) {
    return std::nullopt;
  }
  const std::int64_t size = error == std::errc() ? number : std::numeric_limits<std::int64_t>::max();
  return is_negative ? -size : size;
}

std::string text_of(const JsonValue& json) {
  if (const auto* const flag = std::get_if<bool>(&json)) {
    return *flag ? "true" : "false";
  }
  if (const auto* const number = std::get_if<std::int64_t>(&json)) {
    return std::to_string(*number);
  }
  if (const auto* const text = std::get_if<std::string>(&json)) {
    return "\"" + *text + "\"";
  }
  if (const auto* const large = std::get_if<JsonLarge>(&json)) {
    return large->written;
  }
  const auto* const other = std::get_if<JsonOther>(&json);
  return other != nullptr ? other->what : "an object";
}

/// C programs see a text up to its first NUL.
std::string without_nul(const std::string& place, const std::string& text) {
  if (text.find('\0') != text.npos) {
    refuse(place, "its text has the character U+0000");
  }
  return text;
}

}  // namespace

Value value_of(const Flag& flag, const std::string& place, std::string_view text) {
  if (flag.type == DOCA_ARGP_TYPE_INT) {
    const std::optional<std::int64_t> number = number_of(text);
    if (!number) {
      refuse_type(flag, place, "\"" + std::string(text) + "\"");
    }
    return in_range(place, *number, text);
  }
  if (flag.type == DOCA_ARGP_TYPE_JSON_OBJ) {
    try {
      require_json_object(text);
    } catch (const Error& error) {
      refuse(place, error.what());
    }
  }
  return std::string(text);
}

Value value_of(const Flag& flag, const std::string& place, const JsonValue& json) {
  if (flag.type == DOCA_ARGP_TYPE_BOOLEAN && std::holds_alternative<bool>(json)) {
    return std::get<bool>(json);
  }
  if (flag.type == DOCA_ARGP_TYPE_INT && std::holds_alternative<std::int64_t>(json)) {
    const std::int64_t number = std::get<std::int64_t>(json);
    return in_range(place, number, std::to_string(number));
  }
  if (flag.type == DOCA_ARGP_TYPE_INT && std::holds_alternative<JsonLarge>(json)) {
    refuse(place, std::get<JsonLarge>(json).written + " is beyond the range of an int");
  }
  if (flag.type == DOCA_ARGP_TYPE_STRING && std::holds_alternative<std::string>(json)) {
    return without_nul(place, std::get<std::string>(json));
  }
  if (flag.type == DOCA_ARGP_TYPE_JSON_OBJ && std::holds_alternative<JsonObject>(json)) {
    return std::get<JsonObject>(json).text;
  }
  refuse_type(flag, place, text_of(json));
}

void call(const Given& given, void* config) {
  Value value = given.value;
  void* const pointer = std::visit(
      [](auto& of) -> void* {
        if constexpr (std::is_same_v<decltype(of), std::string&>) {
          return of.data();
        } else {
          return &of;
        }
      },
      value);
  require_success(given.flag->callback(pointer, config), given.place);
}

}  // namespace pydoca::capi::argp
