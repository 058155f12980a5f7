#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#pragma GCC visibility push(default)

namespace pydoca {

/// What may be done to a memory map's range, and by whom (doca-core: enum doca_access_flag). A bit mask.
/// The local device may always read. PCI flags speak of the other side of the PCIe link, RDMA flags of a network peer.
enum class Access : std::uint32_t {
  local_read_only = 0,
  local_read_write = 1,
  rdma_read = 2,
  rdma_write = 4,
  rdma_atomic = 8,
  pci_read_only = 16,
  pci_read_write = 32,  ///< Excludes pci_read_only.
  pci_relaxed_ordering = 64,
};

inline constexpr std::uint32_t access_mask = 127;

constexpr Access operator|(Access a, Access b) noexcept {
  return static_cast<Access>(static_cast<std::uint32_t>(a) | static_cast<std::uint32_t>(b));
}
constexpr Access operator&(Access a, Access b) noexcept {
  return static_cast<Access>(static_cast<std::uint32_t>(a) & static_cast<std::uint32_t>(b));
}
/// Whether mask holds any bit of flags.
constexpr bool allows(Access mask, Access flags) noexcept { return (mask & flags) != Access{}; }
/// Whether it lets anyone write: this side, the other side of the PCIe link, or a network peer.
constexpr bool allows_writing(Access access) noexcept {
  return allows(access, Access::local_read_write | Access::rdma_write | Access::rdma_atomic | Access::pci_read_write);
}

enum class PciFuncType : std::uint8_t { pf = 0, vf = 1, sf = 2 };
inline constexpr std::array<std::string_view, 3> pci_func_type_names{"pf", "vf", "sf"};

/// enum doca_mtu_size: bytes of a packet's payload.
enum class MtuSize : std::uint8_t {
  bytes_256 = 0,
  bytes_512 = 1,
  bytes_1024 = 2,
  bytes_2048 = 3,
  bytes_4096 = 4,
  raw_ethernet = 5,  ///< reserved
};

/// A global identifier of a port, in network byte order. An IPv4 address is kept in the last four bytes.
using Gid = std::array<std::uint8_t, 16>;

/// Devices that a process can have open at the same time. Each has an ordinal below this number.
inline constexpr std::size_t max_open_devices = 512;

/// enum doca_rdma_addr_type.
enum class RdmaAddressType : std::uint8_t { ipv4 = 0, ipv6 = 1, gid = 2 };

/// Which representors a list holds (enum doca_devinfo_rep_filter). A bit mask; all means no filter.
enum class RepFilter : std::uint32_t { all = 0, net = 2, emulated = 4 };

/// The side of the PCIe link on which a function appears.
enum class Side : std::uint8_t { host, dpu };
inline constexpr std::array<std::string_view, 2> side_names{"host", "dpu"};

/// The long form "DDDD:BB:DD.F" of a PCI address in either form, lower case; nothing for another form.
std::optional<std::string> parse_pci_addr(std::string_view address);
/// The same; throws invalid_value for another form.
std::string canonical_pci_addr(std::string_view address);

/// enum doca_task_submit_flag. A bit mask.
enum class SubmitFlags : std::uint32_t {
  none = 0,              ///< The task may stay unposted until the next flush.
  flush = 1,             ///< Post this task and every unposted one before it.
  optimize_reports = 2,  ///< The completion may be reported together with a later one.
};

constexpr SubmitFlags operator|(SubmitFlags a, SubmitFlags b) noexcept {
  return static_cast<SubmitFlags>(static_cast<std::uint32_t>(a) | static_cast<std::uint32_t>(b));
}
constexpr bool has(SubmitFlags mask, SubmitFlags flag) noexcept {
  return (static_cast<std::uint32_t>(mask) & static_cast<std::uint32_t>(flag)) != 0;
}

}  // namespace pydoca

#pragma GCC visibility pop
