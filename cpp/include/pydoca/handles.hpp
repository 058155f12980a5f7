#pragma once

#include "pydoca/buf.hpp"
#include "pydoca/graph.hpp"
#include "pydoca/task.hpp"

#include <memory>

#pragma GCC visibility push(default)

namespace pydoca {

/// Ends a std::unique_ptr's part in an object. A destructor cannot report a status, so each call states when it would
/// fail: the object then stays as it is.
struct GiveBack {
  /// Fails while a task that was submitted has the buf: a BufRef lives until the completion.
  void operator()(Buf* buf) const noexcept { static_cast<void>(buf->dec_refcount()); }
  /// Fails while the task is submitted, unless its context is stopping: a TaskRef lives until the completion.
  void operator()(Task* task) const noexcept { static_cast<void>(task->free()); }
  /// Fails while the instance runs: an InstanceRef lives until its callback.
  void operator()(GraphInstance* instance) const noexcept { static_cast<void>(instance->destroy()); }
};

/// One reference to a buf, or to a list by its head: given back at the end of the handle (doca_buf_dec_refcount).
using BufRef = std::unique_ptr<Buf, GiveBack>;
/// A task of a context's pool: freed at the end of the handle (doca_task_free), before its context is.
template <class Kind>
using TaskRef = std::unique_ptr<Kind, GiveBack>;
/// An instance of a graph: destroyed at the end of the handle (doca_graph_instance_destroy), before its graph is.
using InstanceRef = std::unique_ptr<GraphInstance, GiveBack>;

/// Lets a function that hands out a pointer through a reference fill a handle:
/// inventory->get_by_data(map, map->addr(), length, Into(buf)). The handle has the pointer after the whole expression,
/// and what it had before until then: reset it first where that is what the pool lacks.
template <class Handle>
class Into {
 public:
  explicit Into(Handle& handle) noexcept : handle_(handle) {}
  ~Into() {
    if (made_ != nullptr) {
      handle_.reset(made_);
    }
  }
  Into(const Into&) = delete;
  Into& operator=(const Into&) = delete;

  operator typename Handle::pointer&() noexcept { return made_; }

 private:
  Handle& handle_;
  Handle::pointer made_ = nullptr;
};

}  // namespace pydoca

#pragma GCC visibility pop
