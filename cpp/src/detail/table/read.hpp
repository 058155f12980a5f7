/// Reads values of tables into fields. Each function throws invalid_value, beginning with where, for what does not fit.
#pragma once

#include "pydoca/device_properties.hpp"
#include "pydoca/types.hpp"
#include "pydoca/value.hpp"
#include "pydoca/words.hpp"

#include <array>
#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

namespace pydoca::detail {

using Words = std::vector<std::string_view>;

/// "where must be wanted, not value".
[[noreturn]] void refuse_value(std::string_view where, const Value& value, std::string_view wanted);
/// Refuses the first key of the table that is not known. what, such as "card 1: key", names it.
void require_known(const Table& table, std::string_view what, const Words& known);
void require_known(std::string_view word, std::string_view what, const Words& known);

const Table& to_table(const Value& value, std::string_view where);
/// A list of tables; nothing when the table lacks the key. what, such as "topology", names the table.
std::vector<const Table*> to_tables(const Table& table, std::string_view key, std::string_view what);
std::uint64_t to_number(const Value& value, std::string_view where, std::uint64_t least, std::uint64_t most);
/// The position of the text among the words.
std::size_t to_choice(const Value& value, std::string_view where, std::span<const std::string_view> words);

void read(const Value& value, bool& field, const std::string& where);
void read(const Value& value, std::string& field, const std::string& where);
void read(const Value& value, Side& field, const std::string& where);
void read(const Value& value, PciFuncType& field, const std::string& where);
void read(const Value& value, MtuSize& field, const std::string& where);
void read(const Value& value, std::array<std::uint8_t, 6>& field, const std::string& where);
void read(const Value& value, std::array<std::uint8_t, 4>& field, const std::string& where);
void read(const Value& value, std::array<std::uint8_t, 16>& field, const std::string& where);
/// Keys that are left out keep what field has. TOML has no null: false means that a library is absent.
void read(const Value& value, Capabilities& field, const std::string& where);

template <std::unsigned_integral T>
  requires(!std::same_as<T, bool>)
void read(const Value& value, T& field, const std::string& where) {
  field = static_cast<T>(to_number(value, where, 0, std::numeric_limits<T>::max()));
}

template <class T>
  requires requires { T::fields(); }
void read(const Value& value, T& field, const std::string& where);

template <class T>
void read(const Value& value, std::optional<T>& field, const std::string& where) {
  const bool* const truth = value.as<bool>();
  if (value.is_absent() || (truth != nullptr && !*truth)) {
    field.reset();
  } else {
    read(value, field ? *field : field.emplace(), where);
  }
}

template <class... Fields>
void add_names(Words& names, const std::tuple<Fields...>& fields) {
  std::apply([&](const auto&... field) { (names.emplace_back(field.name), ...); }, fields);
}

/// Those of the fields that the table has.
template <class T, class... Fields>
void read_fields(const Table& table, T& value, const std::string& where, const std::tuple<Fields...>& fields) {
  const auto read_one = [&](const auto& field) {
    if (const Value* const given = table.find(field.name)) {
      read(*given, value.*field.member, where + ": " + field.name);
    }
  };
  std::apply([&](const auto&... field) { (read_one(field), ...); }, fields);
}

template <class T>
  requires requires { T::fields(); }
void read(const Value& value, T& field, const std::string& where) {
  const Table& table = to_table(value, where);
  Words known;
  add_names(known, T::fields());
  require_known(table, where + ": key", known);
  read_fields(table, field, where, T::fields());
}

}  // namespace pydoca::detail
