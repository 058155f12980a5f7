#include "pydoca/interrupt.hpp"
#include "pydoca/value.hpp"

#include "detail/concat.hpp"
#include "detail/fd.hpp"
#include "detail/wait_limit.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <fcntl.h>
#include <locale>
#include <poll.h>
#include <span>
#include <sstream>
#include <sys/stat.h>
#include <type_traits>
#include <unistd.h>
#include <utility>

namespace {

/// Version 3.3 asserts what some malformed keys break, and without the assertion goes on.
[[noreturn]] void refuse_key() {
  throw pydoca::Error(pydoca::Status::invalid_value, "it is not TOML: a key is malformed, or missing before a '='");
}

}  // namespace

// Only the parser is included here, with exceptions, as without them it ends the process when memory is short. Its
// fractions are read by a stream: std::from_chars brings tables.
#undef NDEBUG  // else the parser would drop the assertions
#define TOML_ASSERT(condition) (static_cast<bool>(condition) ? static_cast<void>(0) : refuse_key())
#define TOML_HEADER_ONLY 1
#define TOML_EXCEPTIONS 1
#define TOML_ENABLE_FORMATTERS 0
#define TOML_ENABLE_WINDOWS_COMPAT 0
#define TOML_FLOAT_CHARCONV 0
#define TOML_MAX_NESTED_VALUES 64
#include <toml++/toml.h>

namespace pydoca {

namespace {

using detail::concat;

constexpr std::size_t max_size = std::size_t{16} << 20;  // bytes
constexpr std::size_t max_key_parts = 32;

[[noreturn]] void refuse(const std::string& why) { throw Error(Status::invalid_value, why); }
[[noreturn]] void refuse_depth() { refuse("its arrays and tables are nested too deeply"); }

/// The place behind the string that begins at the quotation mark.
std::size_t end_of_string(std::string_view text, std::size_t begin) noexcept {
  const char quote = text[begin];
  const std::string_view triple = text.substr(begin, 3);
  const bool is_long = triple.size() == 3 && triple[1] == quote && triple[2] == quote;
  for (std::size_t i = begin + (is_long ? 3 : 1); i < text.size(); ++i) {
    if (text[i] == '\\' && quote == '"') {
      ++i;
    } else if (is_long ? text.substr(i, 3) == triple : text[i] == quote) {
      return i + (is_long ? 3 : 1);
    } else if (text[i] == '\n' && !is_long) {
      return i;
    }
  }
  return text.size();
}

/// The parser limits the depth of brackets, not that of a key such as a.b.c, and destroys what it has made by a
/// recursion over both.
void check_keys(std::string_view text) {
  std::size_t parts = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    switch (text[i]) {
      case '.':
        if (++parts > max_key_parts) {
          refuse_depth();
        }
        break;
      case '"':
      case '\'':
        i = end_of_string(text, i) - 1;
        break;
      case '#':
        i = std::min(text.find('\n', i), text.size()) - 1;
        break;
      case '=':
      case ',':
      case '[':
      case '{':
      case '\n':
        parts = 0;
        break;
      default:
        break;
    }
  }
}

Value to_value(const toml::node& node);

Table to_table(const toml::table& given) {
  Table table;
  for (const auto& [key, node] : given) {
    table.entries.emplace_back(std::string(key.str()), to_value(node));
  }
  // The parser sorts the keys.
  std::ranges::sort(table.entries, {}, [&](const auto& entry) {
    const toml::source_position at = given.at(entry.first).source().begin;
    return std::pair(at.line, at.column);
  });
  return table;
}

template <class T>
Value to_other(const T& date) {
  std::ostringstream text;
  text.imbue(std::locale::classic());
  text << date;
  return OtherValue{std::move(text).str()};
}

Value to_value(const toml::node& node) {
  return node.visit([](const auto& value) -> Value {
    using T = std::remove_cvref_t<decltype(value)>;
    if constexpr (toml::is_table<T>) {
      return to_table(value);
    } else if constexpr (toml::is_array<T>) {
      List list;
      for (const toml::node& element : value) {
        list.push_back(to_value(element));
      }
      return list;
    } else if constexpr (toml::is_date<T> || toml::is_time<T> || toml::is_date_time<T>) {
      return to_other(value.get());
    } else {
      return value.get();
    }
  });
}

/// Waits until a read does not block: a FIFO or a terminal has its bytes when another process wants.
void wait_for_bytes(const detail::Fd& file, const std::string& path) {
  Status status = Status::success;
  auto wait = [&]() noexcept {
    detail::WaitLimit limit(std::chrono::nanoseconds::max());
    pollfd readable{.fd = file.get(), .events = POLLIN, .revents = 0};
    while (status == Status::success && ::poll(&readable, 1, static_cast<int>(interrupt_slice.count())) <= 0) {
      status = limit.check();
    }
  };
  run_blocking(wait);
  if (status != Status::success) {
    throw Error(status, concat(path, ": a signal came before the file had its bytes"));
  }
}

/// Its bytes, or -1 with errno. Waits only where the file has none now.
ssize_t read_some(const detail::Fd& file, std::span<char> bytes, const std::string& path) {
  for (;;) {
    const ssize_t got = ::read(file.get(), bytes.data(), bytes.size());
    if (got >= 0 || (errno != EAGAIN && errno != EINTR)) {
      return got;
    }
    wait_for_bytes(file, path);
  }
}

/// A FIFO that no process has opened for writing yet reads as if it had ended.
void wait_for_writer(const detail::Fd& file, const std::string& path) {
  struct stat status{};
  if (::fstat(file.get(), &status) == 0 && S_ISFIFO(status.st_mode)) {
    wait_for_bytes(file, path);
  }
}

/// At most one byte more than a file may have.
std::string bytes_of(const std::string& path) {
  constexpr std::size_t piece = std::size_t{64} << 10;
  const bool is_name = path.find('\0') == std::string::npos;
  const detail::Fd file(is_name ? ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1);
  if (!file) {
    throw FileError(is_name ? errno : EINVAL, path);
  }
  wait_for_writer(file, path);
  std::string bytes;
  for (std::size_t size = 0; size <= max_size; bytes.resize(size)) {
    bytes.resize(size + piece);
    const ssize_t got = read_some(file, std::span(bytes).subspan(size), path);
    if (got < 0) {
      throw FileError(errno, path);
    }
    if (got == 0) {
      bytes.resize(size);
      break;
    }
    size += static_cast<std::size_t>(got);
  }
  return bytes;
}

}  // namespace

Table parse_toml(std::string_view text) {
  if (text.size() > max_size) {
    refuse(concat("the file is larger than ", max_size >> 20U, " MiB"));
  }
  check_keys(text);
  try {
    return to_table(toml::parse(text));
  } catch (const toml::parse_error& error) {
    if (error.description().find("nested value depth") != std::string_view::npos) {
      refuse_depth();
    }
    const toml::source_position at = error.source().begin;
    refuse(concat(error.description(), " (at line ", at.line, ", column ", at.column, ')'));
  }
}

Table read_toml(const std::string& path) {
  const std::string bytes = bytes_of(path);
  try {
    return parse_toml(bytes);
  } catch (const Error& error) {
    throw Error(error.status(), concat(path, ": ", error.what()));
  }
}

}  // namespace pydoca
