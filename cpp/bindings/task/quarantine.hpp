#pragma once

#include <pydoca/buf.hpp>

#include "convert/pybind.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace pydoca::bindings {

class EngineObject;

/// What may have memory of the program in flight: a task.
class MemoryHolder {
 public:
  /// A description for messages: "dma memcpy of 4096 bytes".
  virtual std::string describe() const = 0;

 protected:
  ~MemoryHolder() = default;
};

/// Bytes from begin to end, which is not one of them, in a map's address space.
struct MemoryRange {
  const Mmap* mmap = nullptr;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

/// The memory of tasks that were given up in flight: no task may use it until the device has released it. There is one
/// for the process. Every member needs the GIL.
class Quarantine {
 public:
  /// The quarantine of this process.
  static Quarantine& instance() noexcept;

  bool empty() const noexcept { return pieces_.empty(); }
  /// engine is the task's.
  void add(const MemoryHolder& task, const EngineObject& engine, const std::vector<const Buf*>& lists);
  void add(const MemoryHolder& task, const EngineObject& engine, const MemoryRange& range);
  void remove(const MemoryHolder& task) noexcept;
  /// Throws BufferInUseError, whose message begins with what, when a task other than own still has memory of the range.
  void require_released(const std::string& what, const MemoryRange& range, const MemoryHolder* own = nullptr) const;
  std::size_t num_tasks(const EngineObject& engine) const noexcept;

 private:
  struct Piece {
    const MemoryHolder* task = nullptr;
    const EngineObject* engine = nullptr;
    MemoryRange range;
    bool imported = false;
  };

  static bool share_memory(const Piece& piece, const MemoryRange& range) noexcept;

  std::vector<Piece> pieces_;  ///< the ranges of one task are adjacent
};

}  // namespace pydoca::bindings
