#pragma once

#include <pydoca/buf.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace pydoca::bindings {

class EngineObject;
class TaskObject;

/// The memory of tasks that were given up in flight: nobody may use it until the device has let go of it. Process-wide,
/// as memory is; everything needs the GIL.
class Quarantine {
 public:
  /// The one of this process.
  static Quarantine& instance() noexcept;

  bool empty() const noexcept { return pieces_.empty(); }
  void add(const TaskObject& task, const std::vector<const Buf*>& lists);
  void remove(const TaskObject& task) noexcept;
  /// The task that still has memory of buf, an element of a list, or null.
  const TaskObject* holder_of(const Buf& buf) const noexcept;
  std::size_t num_tasks(const EngineObject& engine) const noexcept;

 private:
  struct Piece {
    const TaskObject* task = nullptr;
    const Mmap* mmap = nullptr;
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    bool imported = false;
  };

  static bool share_memory(const Piece& piece, const Buf& buf) noexcept;

  std::vector<Piece> pieces_;  ///< those of one task stand together
};

}  // namespace pydoca::bindings
