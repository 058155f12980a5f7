#pragma once

#include <pydoca/buf.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace pydoca::bindings {

class EngineObject;
class TaskObject;

/// The memory of tasks that were given up in flight: no task may use it until the device has released it. There is one
/// for the process. Every member needs the GIL.
class Quarantine {
 public:
  /// The quarantine of this process.
  static Quarantine& instance() noexcept;

  bool empty() const noexcept { return pieces_.empty(); }
  /// engine is the task's.
  void add(const TaskObject& task, const EngineObject& engine, const std::vector<const Buf*>& lists);
  void remove(const TaskObject& task) noexcept;
  /// The task that still has memory of buf, an element of a list; null when there is none.
  const TaskObject* holder_of(const Buf& buf) const noexcept;
  std::size_t num_tasks(const EngineObject& engine) const noexcept;

 private:
  struct Piece {
    const TaskObject* task = nullptr;
    const EngineObject* engine = nullptr;
    const Mmap* mmap = nullptr;
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    bool imported = false;
  };

  static bool share_memory(const Piece& piece, const Buf& buf) noexcept;

  std::vector<Piece> pieces_;  ///< the ranges of one task are adjacent
};

}  // namespace pydoca::bindings
