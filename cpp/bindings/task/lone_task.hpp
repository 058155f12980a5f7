#pragma once

#include <pydoca/task.hpp>

#include "convert/pybind.hpp"

#include <cstdint>

namespace pydoca::bindings {

/// A task without a Python object. The user data word of the engine's task points to it, with the lowest bit set; by
/// that bit TaskObject::on_complete() tells it from a TaskObject.
class LoneTask : NotCopied {
 public:
  /// Called by progress() when the task has completed.
  using Completed = void (*)(LoneTask& self, Task& task) noexcept;

  static bool is_meant(std::uint64_t user_data) noexcept { return (user_data & mark) != 0; }
  /// user_data: a word that is_meant() accepts.
  static void complete(Task& task, std::uint64_t user_data) noexcept {
    auto& self = *reinterpret_cast<LoneTask*>(static_cast<std::uintptr_t>(user_data & ~mark));
    self.completed_(self, task);
  }
  /// The user data word of the task.
  std::uint64_t word() const noexcept { return reinterpret_cast<std::uintptr_t>(this) | mark; }

 protected:
  explicit LoneTask(Completed completed) noexcept : completed_(completed) {}
  ~LoneTask() = default;

 private:
  static constexpr std::uint64_t mark = 1;

  Completed completed_;
};

}  // namespace pydoca::bindings
