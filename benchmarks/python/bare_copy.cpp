// A Python extension of the least size: a copy between two places in memory, made by a method call and awaited at
// once. An awaited copy in Python cannot cost less than this, so awaits.py measures one beside the other.
#include <Python.h>

#include <cstring>

namespace {

/// A place in memory, and the awaitable of each copy from it: an await allocates nothing.
struct Place {
  PyObject ob_base;
  Py_buffer memory;
  Py_ssize_t filled;
};

Place& of(PyObject* self) { return *reinterpret_cast<Place*>(self); }

PyObject* make(PyTypeObject* type, PyObject* args, PyObject* /*kwargs*/) {
  PyObject* const self = type->tp_alloc(type, 0);
  if (self != nullptr && PyArg_ParseTuple(args, "w*", &of(self).memory) == 0) {
    Py_DECREF(self);
    return nullptr;
  }
  return self;
}

void end(PyObject* self) {
  PyTypeObject* const type = Py_TYPE(self);
  PyBuffer_Release(&of(self).memory);
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* reset(PyObject* self, PyObject* /*unused*/) {
  of(self).filled = 0;
  Py_RETURN_NONE;
}

/// copy_from(src) of a place of the same length, empty since reset().
PyObject* copy_from(PyObject* self, PyObject* const* args, Py_ssize_t num_args) {
  if (num_args != 1 || Py_TYPE(args[0]) != Py_TYPE(self) || of(args[0]).memory.len != of(self).memory.len ||
      of(self).filled != 0) {
    PyErr_SetString(PyExc_ValueError, "copy_from() takes a Place of the same length, after reset()");
    return nullptr;
  }
  std::memcpy(of(self).memory.buf, of(args[0]).memory.buf, static_cast<std::size_t>(of(self).memory.len));
  of(self).filled = of(self).memory.len;
  return Py_NewRef(self);
}

PySendResult send(PyObject* /*self*/, PyObject* /*value*/, PyObject** result) {
  *result = Py_NewRef(Py_None);
  return PYGEN_RETURN;
}

/// The interpreter asks send() where there is one, and this since Python 3.12: an end without a value.
PyObject* next(PyObject* /*self*/) { return nullptr; }

const auto copy_function = reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&copy_from));
PyMethodDef methods[] = {{"reset", reset, METH_NOARGS, nullptr},
                         {"copy_from", copy_function, METH_FASTCALL, nullptr},
                         {nullptr, nullptr, 0, nullptr}};
PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(make)},
                       {Py_tp_dealloc, reinterpret_cast<void*>(end)},
                       {Py_tp_methods, methods},
                       {Py_am_await, reinterpret_cast<void*>(Py_NewRef)},
                       {Py_am_send, reinterpret_cast<void*>(send)},
                       {Py_tp_iter, reinterpret_cast<void*>(PyObject_SelfIter)},
                       {Py_tp_iternext, reinterpret_cast<void*>(next)},
                       {0, nullptr}};
PyType_Spec spec{"bare_copy.Place", sizeof(Place), 0, Py_TPFLAGS_DEFAULT, slots};
PyModuleDef definition{PyModuleDef_HEAD_INIT, "bare_copy", nullptr, -1, nullptr, nullptr, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit_bare_copy() {  // NOLINT(readability-identifier-naming): Python's
  PyObject* const made = PyModule_Create(&definition);
  PyObject* const type = PyType_FromSpec(&spec);
  if (made == nullptr || type == nullptr || PyModule_AddObject(made, "Place", type) != 0) {
    return nullptr;
  }
  return made;
}
