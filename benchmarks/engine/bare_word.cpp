// A Python extension of the least size: a word in memory that processes share, which Python writes, waits for and
// awaits. A sync event in Python cannot cost less than this, so sync_event.py measures one beside the other.
#include <Python.h>

#include <atomic>
#include <cstdint>

namespace {

using Shared = std::atomic<std::uint64_t>;

struct Word {
  PyObject ob_base;
  Py_buffer memory;
  std::uint64_t awaited;
};

Shared& shared_of(PyObject* self) { return *static_cast<Shared*>(reinterpret_cast<Word*>(self)->memory.buf); }

/// Busy waiting: neither the GIL nor the core is given up, and no signal is looked for.
void wait_until(const Shared& word, std::uint64_t value) {
  while (word.load(std::memory_order_acquire) != value) {
    __builtin_ia32_pause();
  }
}

PyObject* make(PyTypeObject* type, PyObject* args, PyObject* /*kwargs*/) {
  PyObject* const self = type->tp_alloc(type, 0);
  if (self != nullptr && PyArg_ParseTuple(args, "w*", &reinterpret_cast<Word*>(self)->memory) == 0) {
    Py_DECREF(self);
    return nullptr;
  }
  return self;
}

void end(PyObject* self) {
  PyTypeObject* const type = Py_TYPE(self);
  PyBuffer_Release(&reinterpret_cast<Word*>(self)->memory);
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* set(PyObject* self, PyObject* value) {
  shared_of(self).store(PyLong_AsUnsignedLongLong(value), std::memory_order_release);
  Py_RETURN_NONE;
}

PyObject* wait(PyObject* self, PyObject* value) {
  wait_until(shared_of(self), PyLong_AsUnsignedLongLong(value));
  Py_RETURN_NONE;
}

/// The word is its own awaitable, so that an await allocates nothing.
PyObject* until(PyObject* self, PyObject* value) {
  reinterpret_cast<Word*>(self)->awaited = PyLong_AsUnsignedLongLong(value);
  return Py_NewRef(self);
}

PySendResult send(PyObject* self, PyObject* /*value*/, PyObject** result) {
  wait_until(shared_of(self), reinterpret_cast<Word*>(self)->awaited);
  *result = Py_NewRef(Py_None);
  return PYGEN_RETURN;
}

/// The interpreter asks send() where there is one; an awaitable must be an iterator all the same.
PyObject* next(PyObject* self) {
  PyObject* none = nullptr;
  send(self, nullptr, &none);
  Py_DECREF(none);
  return nullptr;
}

PyMethodDef methods[] = {{"set", set, METH_O, nullptr},
                         {"wait", wait, METH_O, nullptr},
                         {"until", until, METH_O, nullptr},
                         {nullptr, nullptr, 0, nullptr}};
PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(make)},
                       {Py_tp_dealloc, reinterpret_cast<void*>(end)},
                       {Py_tp_methods, methods},
                       {Py_am_await, reinterpret_cast<void*>(Py_NewRef)},
                       {Py_am_send, reinterpret_cast<void*>(send)},
                       {Py_tp_iter, reinterpret_cast<void*>(PyObject_SelfIter)},
                       {Py_tp_iternext, reinterpret_cast<void*>(next)},
                       {0, nullptr}};
PyType_Spec spec{"bare_word.Word", sizeof(Word), 0, Py_TPFLAGS_DEFAULT, slots};
PyModuleDef definition{PyModuleDef_HEAD_INIT, "bare_word", nullptr, -1, nullptr, nullptr, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit_bare_word() {
  PyObject* const made = PyModule_Create(&definition);
  PyObject* const type = PyType_FromSpec(&spec);
  if (made == nullptr || type == nullptr || PyModule_AddObject(made, "Word", type) != 0) {
    return nullptr;
  }
  return made;
}
