#pragma once

#include "pydoca/cpus.hpp"
#include "pydoca/status.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace pydoca::backend {

/// The link that an export of a counter crosses.
enum class CounterScope : std::uint8_t { remote_pci, remote_net };

/// A 64-bit counter that several processes may reach: what a sync event is made of. A change through one of its handles
/// wakes the sleepers of all. A sleeper calls arm(), then looks at the value again, then sleeps. load(), store(),
/// fetch_add(), losses_told(), failure() and is_abandoned() may be called in any thread, the others in one at a time.
class Counter {
 public:
  virtual ~Counter() = default;

  virtual std::uint64_t load() const noexcept = 0;
  /// Changes the value, then wakes sleepers. not_connected: its owner has withdrawn it. connection_reset: its owner has
  /// died.
  virtual Status store(std::uint64_t value) noexcept = 0;
  /// The same; previous receives the value before. Wraps modulo 2^64.
  virtual Status fetch_add(std::uint64_t increment, std::uint64_t& previous) noexcept = 0;

  /// The number, from 1, of the rule of a fault plan that has failed a change, which failed with that status; or 0. Any
  /// thread may call it.
  virtual std::uint32_t failed_by(Status /*status*/) const noexcept { return 0; }

  // Where changes take time (a timing model), store() and fetch_add() wait for it, and answer again when a signal ended
  // the wait.
  /// Says before the first change whether changes take time. After this call, changes do not wait; the caller asks when
  /// a change that is to begin now is due, and calls them then.
  virtual bool leave_waiting_to_caller() noexcept { return false; }
  /// A moment of detail::now(), not before that of the last call. adds: whether it is fetch_add().
  virtual std::uint64_t due_of_update(bool /*adds*/) noexcept { return 0; }

  /// The number of importers' deaths that a wait of an owner has reported so far. A wait notes it as it begins, for
  /// failure(). 0 at an importer.
  virtual std::uint32_t losses_told() const noexcept { return 0; }
  /// success while owner and importers share the counter; else what store() would answer. At an owner,
  /// connection_reset when more than told importers have died: every wait that was pending reports a death, or the
  /// first wait after it.
  virtual Status failure(std::uint32_t told) noexcept = 0;
  /// Whether processes had imported an owner's counter and none of them is there any more. Always false where the
  /// device does not know its importers.
  virtual bool is_abandoned() const noexcept { return false; }
  /// Whether the memory may change without a wake-up, as memory of the user's may. by_peers: network peers may change
  /// it, which not every device announces.
  virtual bool may_change_silently(bool by_peers) const noexcept = 0;

  /// Whether the counter may change on another CPU than here, the calling thread's CPUs. Tells the other processes of
  /// these. Any thread.
  virtual bool may_change_elsewhere(Cpus /*here*/) noexcept { return true; }

  /// Lets later changes make wake_fd() readable (edge-triggered). The caller looks for earlier changes afterwards.
  virtual void arm() noexcept = 0;
  virtual int wake_fd() const noexcept = 0;

  /// Describes the counter, in < 512 bytes. Throw not_supported; never called for an imported one.
  virtual std::vector<std::byte> export_to_remote_pci() = 0;
  virtual std::vector<std::byte> export_to_remote_net() = 0;
  /// Ends every export, or, of an imported counter, the import, of which the owner is told: no access through this
  /// handle follows. again: an access has not ended.
  virtual Status withdraw() noexcept { return Status::success; }
};

}  // namespace pydoca::backend
