#pragma once

#include "pydoca/context.hpp"
#include "pydoca/device_properties.hpp"

#include "core/context_node.hpp"
#include "core/task_pool.hpp"

#include <memory>
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
  /// A library with callbacks of its own extends it.
  void silence() noexcept override { ContextTasks::silence(*this); }

 private:
  void destroy() noexcept final { delete this; }
};

/// A library's context for its user, whose callbacks may drop it.
template <class Implementation, class... Arguments>
std::shared_ptr<Implementation> make_context(Arguments&&... arguments) {
  auto* const made = new Implementation(std::forward<Arguments>(arguments)...);
  return {std::shared_ptr<Context>(made, &ContextTasks::drop), made};
}

}  // namespace pydoca::detail
