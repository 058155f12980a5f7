#include "gather/tasks_of_engine.hpp"

#include "call/raw_method.hpp"
#include "convert/convert.hpp"
#include "engine/engine_object.hpp"

#include <string>

namespace pydoca::bindings {

namespace {

py::list list_of(py::handle tasks) {
  // PyList_GetSlice() takes a third of the time of PySequence_List().
  PyObject* const list = PyList_CheckExact(tasks.ptr()) != 0
                             ? PyList_GetSlice(tasks.ptr(), 0, PyList_GET_SIZE(tasks.ptr()))
                             : PySequence_List(tasks.ptr());
  if (list == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::list>(list);
}

}  // namespace

TasksOfEngine::TasksOfEngine(const EngineObject& engine, py::handle tasks, std::string_view what)
    : engine_(engine), what_(what), tasks_(list_of(tasks)) {}

TaskObject& TasksOfEngine::at(std::size_t place) const {
  PyTypeObject* const type = BoundType<TaskObject>::get();
  PyObject* const item = PyList_GET_ITEM(tasks_.ptr(), static_cast<Py_ssize_t>(place));
  // Bound classes of tasks have one tp_dealloc, and no others have it; a class made in Python has another.
  if (Py_TYPE(item)->tp_dealloc != type->tp_dealloc && PyObject_TypeCheck(item, type) == 0) {
    throw py::type_error(format_text("{} takes an iterable of Tasks, and one item is of type {}", to_str(what_),
                                     Py_TYPE(item)->tp_name));
  }
  auto& task = object_of<TaskObject>(item);
  if (&task.engine() != &engine_) {
    raise(Status::invalid_value,
          std::string(what_) + ": " + py::repr(item).cast<std::string>() + " belongs to another progress engine");
  }
  return task;
}

}  // namespace pydoca::bindings
