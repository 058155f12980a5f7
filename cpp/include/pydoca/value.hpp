/// Tables of keys and values: what a file of TOML holds, and what programs give in its place.
#pragma once

#include "pydoca/status.hpp"

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#pragma GCC visibility push(default)

namespace pydoca {

struct Value;

/// Keys and their values, in the order in which they were given. Each key is there once.
struct Table {
  std::vector<std::pair<std::string, Value>> entries;

  /// The value of the key; null when it is absent.
  [[nodiscard]] const Value* find(std::string_view key) const noexcept;
  /// Adds the key, with no value, when there is none.
  Value& operator[](std::string_view key);
};

using List = std::vector<Value>;

/// A value that no key takes, as messages show it: a date of TOML, an object of another language.
struct OtherValue {
  std::string text;
};

/// Text, a number, a list, a table, or nothing (monostate), which is as if its key were not there. Integers are signed
/// where they fit.
struct Value {
  using Kinds =
      std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::string, List, Table, OtherValue>;

  Value() = default;
  Value(bool truth) : is(truth) {}
  template <std::integral T>
    requires(!std::same_as<T, bool>)
  Value(T number)
      : is(std::in_range<std::int64_t>(number) ? Kinds(static_cast<std::int64_t>(number))
                                               : Kinds(static_cast<std::uint64_t>(number))) {}
  Value(double number) : is(number) {}
  Value(std::string text) : is(std::move(text)) {}
  Value(std::string_view text) : is(std::string(text)) {}
  Value(const char* text) : is(std::string(text)) {}
  Value(List list) : is(std::move(list)) {}
  Value(Table table) : is(std::move(table)) {}
  Value(OtherValue other) : is(std::move(other)) {}

  [[nodiscard]] bool is_absent() const noexcept { return std::holds_alternative<std::monostate>(is); }
  /// Null for a value of another kind.
  template <class T>
  [[nodiscard]] const T* as() const noexcept {
    return std::get_if<T>(&is);
  }

  Kinds is;
};

/// As messages show it: 'text', 25, 1.5, True, [1, 2], {'key': 'text'}.
[[nodiscard]] std::string text_of(const Value& value);

/// The system could not read a file: its status is that of errno, such as not_found for ENOENT.
class FileError : public Error {
 public:
  FileError(int error, std::string path);

  [[nodiscard]] int error() const noexcept { return error_; }  ///< errno
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  int error_;
  std::string path_;
};

/// The table of a text, or of a file, of TOML. Throws invalid_value, with the line and the column, for what is not
/// TOML, and for more than 16 MiB; a FileError when the file cannot be read. Messages about a file begin with its name.
/// A FIFO is waited for; throws again when a signal wants the thread meanwhile (pydoca/interrupt.hpp).
[[nodiscard]] Table parse_toml(std::string_view text);
[[nodiscard]] Table read_toml(const std::string& path);

}  // namespace pydoca

#pragma GCC visibility pop
