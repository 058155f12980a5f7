#include "loop/drive.hpp"

#include "call/raw_method.hpp"
#include "convert/python.hpp"
#include "loop/static_type.hpp"

#include <array>
#include <cstddef>
#include <string>
#include <structmember.h>

namespace pydoca::bindings {

namespace {

struct Drive {
  PyObject ob_base;
  PyObject* driven;   ///< null: the collector has ended the drive
  PyObject* awaiter;  ///< null or None: it is over
  CountDrivers* count;
};

Drive& of(PyObject* self) noexcept { return *reinterpret_cast<Drive*>(self); }

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(of(self).driven);
  Py_VISIT(of(self).awaiter);
  return 0;
}

int clear(PyObject* self) {
  Drive& drive = of(self);
  if (drive.driven != nullptr && drive.count != nullptr) drive.count(drive.driven, -1);
  Py_CLEAR(drive.awaiter);
  Py_CLEAR(drive.driven);
  return 0;
}

void dealloc(PyObject* self) {
  PyObject_GC_UnTrack(self);
  clear(self);
  PyObject_GC_Del(self);
}

PyTypeObject make_drive_type() {
  static std::array members{
      PyMemberDef{"driven", T_OBJECT, offsetof(Drive, driven), READONLY, nullptr},
      PyMemberDef{"awaiter", T_OBJECT, offsetof(Drive, awaiter), 0, nullptr},
      PyMemberDef{},
  };
  PyTypeObject type = static_type("pydoca.Drive", sizeof(Drive), &dealloc, Py_TPFLAGS_HAVE_GC);
  type.tp_traverse = &traverse;
  type.tp_clear = &clear;
  type.tp_members = members.data();
  return type;
}

PyTypeObject& drive_type() {
  static PyTypeObject type = make_drive_type();
  ready(type);
  return type;
}

/// The result of a call of CPython's, which has set the Python error when that is null. Throws it.
py::object checked(PyObject* result) {
  if (result == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(result);
}

/// Clears the Python error if it is of that type, else throws it.
void forgive(PyObject* type) {
  if (PyErr_ExceptionMatches(type) == 0) throw py::error_already_set();
  PyErr_Clear();
}

/// The asyncio task that runs now, or None.
py::object current_task() {
  static PyObject* const function = py::object(from_python("load_current_task")()).release().ptr();
  PyObject* const task = PyObject_CallNoArgs(function);
  if (task != nullptr) return py::reinterpret_steal<py::object>(task);
  forgive(PyExc_RuntimeError);  // no event loop runs
  return py::none();
}

PyObject* attribute_name() {
  static PyObject* const name = PyUnicode_InternFromString("_pydoca_drive");
  return name;
}

/// The drive of the object that the asyncio task has; null when it has none.
py::object find_drive(const py::object& task, PyObject* driven) {
  PyObject* const found = PyObject_GetAttr(task.ptr(), attribute_name());
  if (found == nullptr) {
    forgive(PyExc_AttributeError);
    return {};
  }
  auto drive = py::reinterpret_steal<py::object>(found);
  return Py_TYPE(found) == &drive_type() && of(found).driven == driven ? drive : py::object();
}

bool is_made_of(const py::object& task, PyObject* driven) {
  static PyObject* const name = PyUnicode_InternFromString("get_coro");
  return !task.is_none() && checked(PyObject_CallMethodNoArgs(task.ptr(), name)).is(py::handle(driven));
}

py::object make_drive(PyObject* driven, CountDrivers* count) {
  const py::object awaiter = checked(Py_TYPE(driven)->tp_as_async->am_await(driven));
  Drive* const drive = PyObject_GC_New(Drive, &drive_type());
  if (drive == nullptr) throw py::error_already_set();
  drive->driven = Py_NewRef(driven);
  drive->awaiter = Py_NewRef(awaiter.ptr());
  drive->count = count;
  if (count != nullptr) count(driven, 1);
  PyObject_GC_Track(&drive->ob_base);
  return py::reinterpret_steal<py::object>(&drive->ob_base);
}

}  // namespace

py::object drive_of(PyObject* driven, bool is_driven, CountDrivers* count) {
  const py::object task = current_task();
  if (is_driven) {
    if (py::object drive = find_drive(task, driven)) return drive;
  }
  if (!is_made_of(task, driven)) {
    throw py::type_error("only asyncio.create_task() drives " + py::repr(driven).cast<std::string>() +
                         " step by step; await it instead");
  }
  py::object drive = make_drive(driven, count);
  if (PyObject_SetAttr(task.ptr(), attribute_name(), drive.ptr()) != 0) throw py::error_already_set();
  return drive;
}

PySendResult send_to_drive(DriveOf* get_drive, PyObject* driven, PyObject* value, PyObject** result) noexcept {
  *result = nullptr;
  const auto drive = py::reinterpret_steal<py::object>(guarded([&] { return get_drive(driven).release().ptr(); }));
  if (!drive) return PYGEN_ERROR;
  const auto awaiter = py::reinterpret_borrow<py::object>(of(drive.ptr()).awaiter);
  if (!awaiter || awaiter.is_none()) {
    PyErr_SetString(PyExc_RuntimeError, "this await is over; await the object again");
    return PYGEN_ERROR;
  }
  const PySendResult how = PyIter_Send(awaiter.ptr(), value, result);
  if (how != PYGEN_NEXT) Py_CLEAR(of(drive.ptr()).awaiter);
  return how;
}

void set_drive_slot(const py::module_& module, const py::type& base, sendfunc send) {
  auto* const bound = reinterpret_cast<PyTypeObject*>(base.ptr());
  for (const auto& [name, value] : py::dict(module.attr("__dict__"))) {
    if (PyType_Check(value.ptr()) == 0) continue;
    auto* const type = reinterpret_cast<PyTypeObject*>(value.ptr());
    if (PyType_IsSubtype(type, bound) != 0) type->tp_as_async->am_send = send;
  }
}

}  // namespace pydoca::bindings
