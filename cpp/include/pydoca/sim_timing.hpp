#pragma once

#include "pydoca/value.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#pragma GCC visibility push(default)

/// The timing model of simulated devices. A device without one is as fast as this machine.
///
/// An operation that is posted at t comes back at
///     max(t + waiting + size / bandwidth + latency + jitter, when this machine has done it),
/// where waiting is the time until its engine has served what came before it. An engine serves one operation after
/// another; all contexts of this process on a function share it. So a single operation takes latency + size /
/// bandwidth, and a stream of them reaches the bandwidth. What crosses the PCIe link of a card also shares that link.
namespace pydoca::sim {

/// What a model may be given for, by name: the card's engines ("dma", "sha", "cache"), "rdma_write", "rdma_read",
/// "rdma_send", "rdma_atomic", "comch_send" (until the message is on its way to the peer's program; its task ends
/// then), "sync_event_set" and "sync_event_add" (until all sides see the value; the call, or the task, ends then). The
/// operations of RDMA share one engine, and so do the updates of sync events; each of the others has its own.
std::span<const std::string_view> timed_operations() noexcept;

/// What is added to the latency of an operation. z is drawn from the standard normal distribution.
enum class JitterDistribution : std::uint8_t {
  none,
  uniform,      ///< 0 to spread
  normal,       ///< spread * z; the sum with the latency is at least 0
  lognormal,    ///< spread * exp(z): spread is the median
  exponential,  ///< spread is the mean
};
std::string_view name_of(JitterDistribution distribution) noexcept;

struct Jitter {
  JitterDistribution distribution = JitterDistribution::none;
  std::chrono::nanoseconds spread{0};

  bool operator==(const Jitter&) const = default;
};

/// The model of one operation. What is absent is as a wider table, a preset or the default says.
struct OperationTiming {
  std::optional<std::chrono::nanoseconds> latency = std::nullopt;  ///< at most an hour; default 0
  std::optional<double> bandwidth = std::nullopt;                  ///< bytes a second; default: no limit
  std::optional<double> rate = std::nullopt;                       ///< operations a second at most; default: no limit
  std::optional<Jitter> jitter = std::nullopt;
  /// Operations that a context may have in the queue, or a comch connection: submit answers AGAIN beyond it, as for a
  /// full hardware queue. 0, the default: as many as the context has tasks. Not for RDMA, whose contexts have a
  /// setting.
  std::optional<std::uint32_t> queue_depth = std::nullopt;
  /// 1, the default: operations of a context come back in the order of their submission. Else one may come back before
  /// others that were submitted up to so many less one places earlier. At most 4096, and not for connections and sync
  /// events, which are ordered.
  std::optional<std::uint32_t> reorder_window = std::nullopt;
  /// Whether submit executes operations, as the unmodelled simulator does with small ones. Else, and by default, none
  /// begins before its engine's next progress. It applies only to engines: others are executed when they are due.
  std::optional<bool> executes_in_submit = std::nullopt;

  bool operator==(const OperationTiming&) const = default;
};

struct Timing {
  /// Where to begin: "ideal", "bluefield2", "bluefield3"; what wider tables say is forgotten. Empty: they stay.
  std::string preset;
  std::map<std::string, OperationTiming, std::less<>> operations;  ///< one for each of timed_operations()
  std::optional<double> pcie_bandwidth;  ///< a card's link to its host, bytes a second in each direction

  bool operator==(const Timing&) const = default;
};

/// The models of a process. A function's is that of all devices, then of its profile, then its own: the narrower table
/// wins, key by key.
struct Config {
  std::uint64_t seed = 0;  ///< seeds every random number; each queue has a sequence of its own
  Timing timing;
  std::map<std::string, Timing, std::less<>> profiles;
  std::map<std::string, Timing, std::less<>> devices;  ///< one for each function's name

  bool operator==(const Config&) const = default;
};

/// For devices that are opened later, those that are open now among them, which stay as they are and become others when
/// they are opened again. Their engines begin idle, their random numbers at the seed. Throws invalid_value
/// for values that make no sense, and for a profile, a device or a preset that does not exist.
void set_config(Config config);
Config config();
/// The configuration of a table, whose keys the reference of pydoca.sim.Config lists. Throws invalid_value for keys,
/// units, operations and profiles that do not exist.
Config read_config(const Table& table);
/// The table that read_config() makes an equal configuration of, with units.
Table table_of(const Config& config);
Table table_of(const Timing& timing);
/// What is in force for a function that is opened now, presets included; nothing where it is not modelled. Throws
/// not_found.
Timing timing_of(std::string_view device);
std::vector<std::string_view> timing_presets();
/// The timing of all devices. Throws invalid_value, listing the presets.
Timing timing_preset(std::string_view name);

}  // namespace pydoca::sim

#pragma GCC visibility pop
