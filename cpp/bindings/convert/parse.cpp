#include "convert/parse.hpp"

#include <pydoca/status.hpp>

#include "convert/convert.hpp"
#include "convert/names.hpp"

#include <pybind11/stl.h>

#include <algorithm>
#include <arpa/inet.h>
#include <bit>
#include <optional>
#include <type_traits>

namespace pydoca::bindings {

namespace {

template <class Names>
auto find(const Names& names, std::string_view what, std::string_view word) {
  std::vector<std::string_view> known;
  for (const auto& entry : names) {
    if (entry.name == word) return entry.value;
    known.push_back(entry.name);
  }
  refuse_word(what, word, known);
}

template <class Names, class Enum>
std::string_view name_of(const Names& names, Enum value) noexcept {
  for (const auto& entry : names) {
    if (entry.value == value) return entry.name;
  }
  return "?";
}

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(' ');
  return first == std::string_view::npos ? "" : text.substr(first, text.find_last_not_of(' ') - first + 1);
}

/// Names joined by "|".
template <class Names>
auto find_all(const Names& names, std::string_view what, std::string_view text) {
  using Enum = decltype(names.front().value);
  std::underlying_type_t<Enum> mask = 0;
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t end = std::min(text.find('|', start), text.size());
    mask |= static_cast<std::underlying_type_t<Enum>>(find(names, what, trimmed(text.substr(start, end - start))));
    start = end + 1;
  }
  return static_cast<Enum>(mask);
}

/// An enumerator, an int when numbers are allowed, or text, which parse() converts.
template <class Enum, class Parse>
Enum to_enum(py::handle value, std::string_view what, const Parse& parse) {
  if (py::isinstance<py::str>(value)) return parse(to_utf8(value));
  if (py::isinstance<Enum>(value)) return value.cast<Enum>();
  refuse_type(what, "a str or an enumerator", value);
}

}  // namespace

void refuse_type(std::string_view what, std::string_view wanted, py::handle value) {
  throw py::type_error(format_text("{} must be {}, not {}", to_str(what), to_str(wanted), type_name(value)));
}

bool to_bool(py::handle value, std::string_view what) {
  if (PyBool_Check(value.ptr()) == 0) refuse_type(what, "a bool", value);
  return value.is(py::bool_(true));
}

std::string to_utf8(py::handle text) {
  Py_ssize_t size = 0;
  const char* const data = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
  if (data == nullptr) throw py::error_already_set();
  return {data, static_cast<std::size_t>(size)};
}

namespace {

/// The largest number of an engine's type says nothing of the limit that the engine has: names it only when broken.
[[noreturn]] void refuse_number(const py::int_& number, std::string_view what, std::uint64_t least,
                                std::uint64_t most) {
  const bool is_whole_type = most == UINT32_MAX || most == UINT64_MAX;
  const std::string least_text = std::to_string(least);
  const std::string allowed = !is_whole_type             ? "in " + least_text + ".." + std::to_string(most)
                              : number < py::int_(least) ? least_text + " or more"
                                                         : "at most " + std::to_string(most);
  raise(Status::invalid_value, format_text("{} must be {}, not {}", to_str(what), allowed, number));
}

py::int_ to_index(py::handle value, std::string_view what) {
  if (PyIndex_Check(value.ptr()) == 0) refuse_type(what, "an int", value);
  PyObject* const index = PyNumber_Index(value.ptr());
  if (index == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::int_>(index);
}

/// Null, without a Python error, unless value is an int in that range.
std::optional<std::uint64_t> find_u64(py::handle value) {
  const std::uint64_t result = PyLong_AsUnsignedLongLong(value.ptr());
  if (result != ~std::uint64_t{0} || PyErr_Occurred() == nullptr) return result;
  PyErr_Clear();
  return std::nullopt;
}

}  // namespace

std::uint64_t to_u64_slowly(py::handle value, std::string_view what) {
  PyErr_Clear();
  if (const auto result = find_u64(value)) return *result;
  const py::int_ number = to_index(value, what);
  if (const auto result = find_u64(number)) return *result;
  refuse_number(number, what, 0, UINT64_MAX);
}

std::optional<double> to_seconds(PyObject* value) {
  if (value == nullptr || value == Py_None) return std::nullopt;
  const double seconds = PyFloat_AsDouble(value);
  if (seconds == -1 && PyErr_Occurred() != nullptr) {
    if (PyErr_ExceptionMatches(PyExc_TypeError) == 0) throw py::error_already_set();
    PyErr_Clear();
    refuse_type("timeout", "a number of seconds, or None", value);
  }
  return seconds;
}

std::uint32_t to_u32(py::handle value, std::string_view what, std::uint32_t least, std::uint32_t most) {
  if (PyBool_Check(value.ptr()) != 0) refuse_type(what, "an int", value);
  const py::int_ number = to_index(value, what);
  if (number < py::int_(least) || number > py::int_(most)) {
    refuse_number(number, what, least, most);
  }
  return number.cast<std::uint32_t>();
}

Access to_access(py::handle value) {
  if (py::isinstance<py::int_>(value) && !py::isinstance<py::bool_>(value)) {
    const std::uint64_t mask = to_u64(value, "access");
    if (mask > access_mask) {
      raise(Status::invalid_value, format_text("access {:#x} has undefined bits", value));
    }
    return static_cast<Access>(mask);
  }
  return to_enum<Access>(value, "access",
                         [](const std::string& text) { return find_all(access_names, "access", text); });
}

std::string to_text(Access access) {
  std::string text;
  for (const auto& entry : access_names) {
    if (allows(access, entry.value)) text.append(text.empty() ? "" : "|").append(entry.name);
  }
  return text.empty() ? "local_read_only" : text;
}

SubmitFlags to_submit_flags(PyObject* flags) {
  if (flags == nullptr) {
    return SubmitFlags::flush;
  }
  try {
    return py::handle(flags).cast<SubmitFlags>();
  } catch (const py::cast_error&) {
    refuse_type("flags", "a pydoca.SubmitFlags", flags);
  }
}

std::optional<Side> to_side(py::handle value) {
  if (value.is_none()) return std::nullopt;
  return to_enum<Side>(value, "side", [](const std::string& text) { return find(named_sides, "side", text); });
}

std::string_view to_text(Side side) noexcept { return name_of(named_sides, side); }

RepFilter to_rep_filter(py::handle value) {
  return to_enum<RepFilter>(value, "filter",
                            [](const std::string& text) { return find_all(filter_names, "representor filter", text); });
}

std::string_view to_text(PciFuncType type) noexcept { return name_of(func_type_names, type); }

SyncEventLocation to_location(py::handle value, std::string_view what) {
  return to_enum<SyncEventLocation>(value, what,
                                    [&](const std::string& text) { return find(location_names, what, text); });
}

std::string_view to_text(SyncEventLocation location) noexcept { return name_of(location_names, location); }

ClockType to_clock_type(py::handle value) {
  return to_enum<ClockType>(value, "type", [](const std::string& text) { return find(clock_names, "clock", text); });
}

RdmaTransport to_transport(py::handle value) {
  return to_enum<RdmaTransport>(value, "transport_type",
                                [](const std::string& text) { return find(transport_names, "transport type", text); });
}

RdmaAddressType to_address_type(py::handle value) {
  if (!py::isinstance<py::str>(value)) refuse_type("address_type", "a str", value);
  return find(address_type_names, "address type", to_utf8(value));
}

std::uint64_t to_enumerator(py::handle name, std::string_view what, std::span<const std::string_view> names) {
  if (!py::isinstance<py::str>(name)) refuse_type(what, "a str", name);
  const std::string word = to_utf8(name);
  const auto place = std::ranges::find(names, word);
  if (place == names.end()) refuse_word(what, word, {names.begin(), names.end()});
  return static_cast<std::uint64_t>(place - names.begin());
}

std::string to_text(const MacAddr& address) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t byte : address) {
    if (!text.empty()) text += ':';
    text += digits[byte >> 4U];
    text += digits[byte & 15U];
  }
  return text;
}

std::string to_text(const Ipv4Addr& address) {
  std::array<char, INET_ADDRSTRLEN> text{};
  return ::inet_ntop(AF_INET, address.data(), text.data(), text.size());
}

std::string to_text(const Ipv6Addr& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  return ::inet_ntop(AF_INET6, address.data(), text.data(), text.size());
}

MtuSize to_mtu(py::handle value) {
  const std::uint64_t bytes = to_u64(value, "mtu");
  if (bytes < 256 || bytes > 4096 || !std::has_single_bit(bytes)) {
    raise(Status::invalid_value,
          "mtu is 256, 512, 1024, 2048 or 4096 bytes, and " + std::to_string(bytes) + " was given");
  }
  return static_cast<MtuSize>(std::countr_zero(bytes) - std::countr_zero(256U));
}

std::uint32_t to_bytes(MtuSize mtu) noexcept { return 256U << static_cast<unsigned>(mtu); }

}  // namespace pydoca::bindings
