#include "pydoca/value.hpp"

#include "pydoca/words.hpp"

#include "detail/concat.hpp"
#include "detail/system_reason.hpp"

#include <algorithm>
#include <cerrno>

namespace pydoca {

namespace {

Status status_of(int error) noexcept {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return Status::not_found;
    case EACCES:
    case EPERM:
      return Status::not_permitted;
    default:
      return Status::operating_system;
  }
}

/// Writes a value of each kind.
struct Writer {
  std::string operator()(std::monostate) const { return "None"; }
  std::string operator()(bool truth) const { return truth ? "True" : "False"; }
  std::string operator()(std::int64_t number) const { return std::to_string(number); }
  std::string operator()(std::uint64_t number) const { return std::to_string(number); }
  std::string operator()(double number) const {
    std::string text = detail::concat(number);
    return text.find_first_not_of("-0123456789") == std::string::npos ? text + ".0" : text;
  }
  std::string operator()(const std::string& text) const { return in_quotes(text); }
  std::string operator()(const List& list) const {
    std::vector<std::string> texts;
    std::ranges::transform(list, std::back_inserter(texts), text_of);
    return detail::concat('[', detail::listed(texts), ']');
  }
  std::string operator()(const Table& table) const {
    std::vector<std::string> texts;
    for (const auto& [key, value] : table.entries) {
      texts.push_back(detail::concat(in_quotes(key), ": ", text_of(value)));
    }
    return detail::concat('{', detail::listed(texts), '}');
  }
  std::string operator()(const OtherValue& other) const { return other.text; }
};

}  // namespace

const Value* Table::find(std::string_view key) const noexcept {
  const auto found = std::ranges::find(entries, key, [](const auto& entry) { return std::string_view(entry.first); });
  return found == entries.end() ? nullptr : &found->second;
}

Value& Table::operator[](std::string_view key) {
  if (const Value* const known = find(key)) {
    return const_cast<Value&>(*known);
  }
  return entries.emplace_back(std::string(key), Value()).second;
}

std::string text_of(const Value& value) { return std::visit(Writer(), value.is); }

FileError::FileError(int error, std::string path)
    : Error(status_of(error), detail::concat(path, ": ", detail::system_reason(error))),
      error_(error),
      path_(std::move(path)) {}

}  // namespace pydoca
