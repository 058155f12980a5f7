#include "detail/table/read.hpp"

#include "pydoca/device_properties.hpp"

#include "detail/concat.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <bit>
#include <charconv>

namespace pydoca::detail {

namespace {

[[noreturn]] void refuse_address(const std::string& where, std::string_view kind, std::string_view text,
                                 std::string_view example) {
  throw Error(Status::invalid_value,
              concat(where, ": ", in_quotes(text), " is not ", kind, " address; write it as ", example));
}

std::string to_text(const Value& value, const std::string& where) {
  std::string text;
  read(value, text, where);
  return text;
}

/// "card 1: side" as what is wrong with a word, not with a value.
template <class Enum, class Names>
Enum to_enumerator(const Value& value, const std::string& where, const Names& names) {
  const std::string text = to_text(value, where);
  require_known(text, where, Words(names.begin(), names.end()));
  return static_cast<Enum>(std::ranges::find(names, text) - names.begin());
}

}  // namespace

void refuse_value(std::string_view where, const Value& value, std::string_view wanted) {
  throw Error(Status::invalid_value, concat(where, " must be ", wanted, ", not ", text_of(value)));
}

void require_known(const Table& table, std::string_view what, const Words& known) {
  for (const auto& entry : table.entries) {
    require_known(entry.first, what, known);
  }
}

void require_known(std::string_view word, std::string_view what, const Words& known) {
  if (std::ranges::find(known, word) == known.end()) {
    refuse_word(what, word, known);
  }
}

const Table& to_table(const Value& value, std::string_view where) {
  const auto* const table = value.as<Table>();
  if (table == nullptr) {
    refuse_value(where, value, "a table");
  }
  return *table;
}

std::vector<const Table*> to_tables(const Table& table, std::string_view key, std::string_view what) {
  const Value* const value = table.find(key);
  if (value == nullptr) {
    return {};
  }
  std::vector<const Table*> tables;
  const auto* const list = value->as<List>();
  if (list != nullptr) {
    std::ranges::transform(*list, std::back_inserter(tables), [](const Value& each) { return each.as<Table>(); });
  }
  if (list == nullptr || std::ranges::find(tables, nullptr) != tables.end()) {
    throw Error(Status::invalid_value,
                concat(what, ": ", key, " must be a list of tables: write [[", key, "]] before each"));
  }
  return tables;
}

std::uint64_t to_number(const Value& value, std::string_view where, std::uint64_t least, std::uint64_t most) {
  const auto* const small = value.as<std::int64_t>();
  const auto* const large = value.as<std::uint64_t>();
  const bool is_number = large != nullptr || (small != nullptr && *small >= 0);
  const std::uint64_t number = large != nullptr ? *large : is_number ? static_cast<std::uint64_t>(*small) : 0;
  if (!is_number || number < least || number > most) {
    refuse_value(where, value, concat("a whole number in ", least, "..", most));
  }
  return number;
}

std::size_t to_choice(const Value& value, std::string_view where, std::span<const std::string_view> words) {
  const auto* const text = value.as<std::string>();
  if (text == nullptr) {
    refuse_value(where, value, concat("one of ", listed(words)));
  }
  require_known(*text, where, Words(words.begin(), words.end()));
  return static_cast<std::size_t>(std::ranges::find(words, *text) - words.begin());
}

void read(const Value& value, bool& field, const std::string& where) {
  const bool* const truth = value.as<bool>();
  if (truth == nullptr) {
    refuse_value(where, value, "true or false");
  }
  field = *truth;
}

void read(const Value& value, std::string& field, const std::string& where) {
  const auto* const text = value.as<std::string>();
  if (text == nullptr) {
    refuse_value(where, value, "text");
  }
  field = *text;
}

void read(const Value& value, Side& field, const std::string& where) {
  field = to_enumerator<Side>(value, where, side_names);
}

void read(const Value& value, PciFuncType& field, const std::string& where) {
  const std::string text = to_text(value, where);
  require_known(text, where.substr(0, where.rfind(": ")) + ": function type",
                Words(pci_func_type_names.begin(), pci_func_type_names.end()));
  field = static_cast<PciFuncType>(std::ranges::find(pci_func_type_names, text) - pci_func_type_names.begin());
}

void read(const Value& value, MtuSize& field, const std::string& where) {
  const auto* const bytes = value.as<std::int64_t>();
  if (bytes == nullptr || *bytes < 256 || *bytes > 4096 || !std::has_single_bit(static_cast<std::uint64_t>(*bytes))) {
    refuse_value(where, value, "256, 512, 1024, 2048 or 4096 bytes");
  }
  field = static_cast<MtuSize>(std::countr_zero(static_cast<std::uint64_t>(*bytes)) - std::countr_zero(256U));
}

void read(const Value& value, std::array<std::uint8_t, 6>& field, const std::string& where) {
  const std::string text = to_text(value, where);
  bool good = text.size() == 3 * field.size() - 1;
  for (std::size_t i = 0; good && i < field.size(); ++i) {
    const char* const start = text.data() + 3 * i;
    good =
        std::from_chars(start, start + 2, field[i], 16).ptr == start + 2 && (i + 1 == field.size() || start[2] == ':');
  }
  if (!good) {
    refuse_address(where, "a MAC", text, "02:50:44:0b:00:01");
  }
}

void read(const Value& value, std::array<std::uint8_t, 4>& field, const std::string& where) {
  const std::string text = to_text(value, where);
  if (::inet_pton(AF_INET, text.c_str(), field.data()) != 1) {
    refuse_address(where, "an IPv4", text, "10.0.0.1");
  }
}

void read(const Value& value, std::array<std::uint8_t, 16>& field, const std::string& where) {
  const std::string text = to_text(value, where);
  if (::inet_pton(AF_INET6, text.c_str(), field.data()) != 1) {
    refuse_address(where, "an IPv6", text, "fe80::1");
  }
}

void read(const Value& value, Capabilities& field, const std::string& where) {
  const Table& table = to_table(value, where);
  Words known;
  add_names(known, LibraryCapabilities::fields());
  add_names(known, Capabilities::own_fields());
  require_known(table, where + ": key", known);
  read_fields(table, static_cast<LibraryCapabilities&>(field), where, LibraryCapabilities::fields());
  read_fields(table, field, where, Capabilities::own_fields());
}

}  // namespace pydoca::detail
