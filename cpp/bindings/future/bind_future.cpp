#include "call/raw_method.hpp"
#include "convert/bindings.hpp"
#include "future/task_future.hpp"

#include <array>

namespace pydoca::bindings {

namespace {

PyObject* as_future(PyObject* task) { return TaskFuture::make(task).release().ptr(); }

std::span<PyMethodDef> methods_of_futures() {
  static std::array methods{
      raw_method<"as_future($self, /)", &as_future>(
          "The next completion as a future of the running event loop, with the interface of asyncio.Future:\n"
          "asyncio.gather(), wait() and others take it as it is, where they would make an asyncio task of the task\n"
          "itself. The outcome of a task that is done is there at once. Cancelling a future gives the task up as\n"
          "cancelling an await does: it is cancelled once the device has released the memory. Like an await, it does\n"
          "not end before the task is flushed. Raises BadStateError for a task that was never submitted."),
  };
  return methods;
}

}  // namespace

void bind_future(py::module_& /*module*/) { add_methods(py::type::of<TaskObject>(), methods_of_futures()); }

}  // namespace pydoca::bindings
