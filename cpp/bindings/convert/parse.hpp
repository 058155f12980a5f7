/// Parses the text that users write: names of enumerators, and addresses. Every function here throws invalid_value for
/// an unknown name; the message has the nearest known name.
#pragma once

#include <pydoca/clock.hpp>
#include <pydoca/rdma.hpp>
#include <pydoca/sync_event.hpp>
#include <pydoca/types.hpp>
#include <pydoca/words.hpp>

#include "convert/pybind.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pydoca::bindings {

/// The kind of task with that name. Throws invalid_value for an unknown name; what, such as "rdma task", is for the
/// message.
template <class Kinds>
auto to_kind(std::string_view name, const Kinds& kinds, std::string_view what) {
  std::vector<std::string_view> known;
  for (const auto kind : kinds) {
    known.push_back(name_of(kind));
    if (known.back() == name) return kind;
  }
  refuse_word(what, name, known);
}

/// Throws TypeError: the argument called what must be wanted (such as "a str"), and is value.
[[noreturn]] void refuse_type(std::string_view what, std::string_view wanted, py::handle value);

/// A str as UTF-8. Throws UnicodeEncodeError, a ValueError, for text that UTF-8 cannot encode.
std::string to_utf8(py::handle text);

/// A bool. Throws TypeError for any other type; what names the argument in the error.
bool to_bool(py::handle value, std::string_view what);

/// What to_u64() does about values that are rare. Drops a Python error.
std::uint64_t to_u64_slowly(py::handle value, std::string_view what);

/// An integer (any object with __index__) in 0..2^64-1. what names the argument in the error; a const char* is measured
/// only then.
std::uint64_t to_u64(py::handle value, const auto& what) {
  const std::uint64_t result = PyLong_AsUnsignedLongLong(value.ptr());
  return result != ~std::uint64_t{0} ? result : to_u64_slowly(value, what);
}

/// Seconds, or no limit for None and null. Throws TypeError unless it is a number.
std::optional<double> to_seconds(PyObject* value);

/// A count or number in least..most. Throws TypeError for a bool.
std::uint32_t to_u32(py::handle value, std::string_view what, std::uint32_t least = 0, std::uint32_t most = UINT32_MAX);

/// An Access, an int, or text such as "local_read_write|pci_read_only". Throws TypeError for any other type.
Access to_access(py::handle value);
/// The access as text that to_access() takes.
std::string to_text(Access access);

/// A SubmitFlags; flush for null, an argument that was not given. Throws TypeError for any other type.
SubmitFlags to_submit_flags(PyObject* flags);

/// A Side, "host", "dpu" or None.
std::optional<Side> to_side(py::handle value);
std::string_view to_text(Side side) noexcept;

/// A RepFilter, or text such as "net|emulated".
RepFilter to_rep_filter(py::handle value);

std::string_view to_text(PciFuncType type) noexcept;

/// A SyncEventLocation, or its name, such as "remote_pci". what names the argument in the error.
SyncEventLocation to_location(py::handle value, std::string_view what);
std::string_view to_text(SyncEventLocation location) noexcept;

/// A ClockType, or its name, such as "nic_real_time".
ClockType to_clock_type(py::handle value);

/// An RdmaTransport, "rc" or "dc".
RdmaTransport to_transport(py::handle value);
/// "ipv4", "ipv6" or "gid".
RdmaAddressType to_address_type(py::handle value);

/// The number of the name; what begins the message. Throws TypeError unless it is a str.
std::uint64_t to_enumerator(py::handle name, std::string_view what, std::span<const std::string_view> names);

using MacAddr = std::array<std::uint8_t, 6>;
using Ipv4Addr = std::array<std::uint8_t, 4>;
using Ipv6Addr = std::array<std::uint8_t, 16>;

std::string to_text(const MacAddr& address);
std::string to_text(const Ipv4Addr& address);
std::string to_text(const Ipv6Addr& address);

/// An MTU: 256, 512, 1024, 2048 or 4096 bytes.
MtuSize to_mtu(py::handle bytes);
/// The MTU in bytes.
std::uint32_t to_bytes(MtuSize mtu) noexcept;

}  // namespace pydoca::bindings
