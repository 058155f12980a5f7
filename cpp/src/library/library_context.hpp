#pragma once

#include "pydoca/context.hpp"

#include "core/context_node.hpp"
#include "core/task_pool.hpp"

#include <utility>

namespace pydoca::detail {

/// The base of a library's implementation. Noun is the library's public class. The node comes first, so that the
/// engine's calls need no adjustment.
template <class Noun>
class LibraryContext : protected ContextNode, public Noun {
 protected:
  template <class... Arguments>
  explicit LibraryContext(Arguments&&... arguments) : Noun(std::forward<Arguments>(arguments)...) {
    ContextTasks::set_node(*this, *this);
  }
  /// The node leaves its engine before the context lets go of it.
  ~LibraryContext() override { leave(); }

  bool progress_one(bool& more) noexcept override {
    if (this->is_live() && poll_one(more)) [[likely]] {
      return true;
    }
    return this->finish_stopping(more);
  }
};

}  // namespace pydoca::detail
