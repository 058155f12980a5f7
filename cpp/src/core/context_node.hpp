#pragma once

#include "pydoca/status.hpp"

#include "detail/drops.hpp"
#include "detail/ready_node.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace pydoca {
class Context;
class ProgressEngine;
}  // namespace pydoca

namespace pydoca::detail {

/// A context as its engine sees it, and the functions that its library implements. begin() may throw; the others do not
/// fail.
class ContextNode : public ReadyNode, public Droppable {
 protected:
  /// Builds queues, and has the pools make their tasks. success: running; in_progress: starting.
  virtual Status begin() = 0;
  /// Ends the tasks that the device has not begun; completions follow through progress.
  virtual void quiesce() noexcept = 0;
  /// Whether nothing of the library's own (connections, say) is left to do between stopping and idle.
  virtual bool quiesced() const noexcept { return true; }
  /// Releases what begin() built, or had built when it threw.
  virtual void end() noexcept = 0;
  /// The status of a close() that comes before the context is idle.
  virtual Status refuses_close() const noexcept { return Status::in_use; }
  /// close() was called: releases what is held from one run to the next.
  virtual void release() noexcept {}
  /// The name of a kind of its tasks, "memcpy"; traces show it.
  virtual std::string_view task_name(std::size_t kind) const noexcept = 0;
  /// Delivers at most one completion or event of the library's queues.
  virtual bool poll_one(bool& more) noexcept = 0;

  /// Counts for look(), which returns this: after max_vain_looks looks in vain the engine no longer looks at the
  /// context, and the context is armed as for a sleep. So a thousand quiet contexts cost a busy one nothing.
  bool note_look(bool found) noexcept;
  /// Has the engine look at the context up to max_vain_looks times, from now on.
  void expect_change() noexcept;

 private:
  friend class pydoca::Context;
  friend class pydoca::ProgressEngine;
  static constexpr std::uint32_t max_vain_looks = 4096;

  std::uint32_t vain_looks_ = 0;
};

}  // namespace pydoca::detail
