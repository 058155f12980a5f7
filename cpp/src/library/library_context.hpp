#pragma once

#include "pydoca/context.hpp"
#include "pydoca/progress_engine.hpp"

#include "core/context_node.hpp"
#include "core/task_pool.hpp"
#include "detail/ready_list.hpp"

#include <memory>
#include <utility>

namespace pydoca::detail {

/// The base of a library's implementation. Noun is the library's public class. The node comes first, so that the
/// engine's calls need no adjustment.
template <class Noun>
class LibraryContext : protected ContextNode, public Noun {
 public:
  /// What a context's last reference does.
  static void drop(LibraryContext* context) noexcept {
    if (context->progress_engine() != nullptr) {
      context->progress_engine()->ready_list().drops().drop(*context);
    } else {
      context->destroy();
    }
  }

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
  /// For libraries with callbacks of their own.
  void silence() noexcept override { ContextTasks::silence(*this); }

 private:
  void destroy() noexcept final { delete this; }
};

/// A library's context for its user, whose callbacks may drop it.
template <class Implementation, class... Arguments>
std::shared_ptr<Implementation> make_context(Arguments&&... arguments) {
  return {new Implementation(std::forward<Arguments>(arguments)...), &Implementation::drop};
}

}  // namespace pydoca::detail
