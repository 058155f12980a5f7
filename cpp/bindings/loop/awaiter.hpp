/// What the iterators of awaits have in common: CPython's slots and a coroutine's methods, made of three functions.
#pragma once

#include "convert/pybind.hpp"
#include "loop/static_type.hpp"
#include "loop/stop_iteration.hpp"

#include <array>
#include <cstddef>

namespace pydoca::bindings {

/// Whether a coroutine's throw() takes these arguments: a class, a value and a traceback, or an instance, None and a
/// traceback, of which the last ones may be left out. Else false, with TypeError set.
bool can_be_thrown(PyObject* const* args, Py_ssize_t num_args) noexcept;

/// Sets the error that a coroutine's throw() was given, as raise would: from a class or an instance, with or without a
/// traceback. can_be_thrown() has let the arguments pass.
void set_thrown(PyObject* const* args, Py_ssize_t num_args);

/// Calls throw() of the iterator or coroutine that an await waits for.
PyObject* throw_into(PyObject* inner, PyObject* const* args, Py_ssize_t num_args);

/// An iterator ends with StopIteration, which has the value.
PyObject* as_iterator(PySendResult how, PyObject* result);

/// The type of an awaiter, a plain struct that begins with ob_base. It has the static functions
///   PySendResult send(Awaiter&, PyObject* value, PyObject** result)       the next step
///   PyObject* throw_in(Awaiter&, PyObject* const* args, Py_ssize_t count)    a step that begins with an error
///   PyObject* close(Awaiter&)                                             the end of the await
///   int traverse(Awaiter&, visitproc, void*)   void clear(Awaiter&)       for the collector
/// and, if it needs them, before clear() at its end, and for more slots of its type:
///   void drop(Awaiter&)   void extend(PyTypeObject&)
/// It is tracked by the collector only once it suspends: before, nothing that it refers to knows it. Unused awaiters
/// are kept for the next awaits.
template <class Awaiter>
class AwaiterType {
 public:
  /// Readies the type named name. Throws the Python error.
  static void prepare(const char* name) {
    if (type().tp_name == nullptr) type() = make(name);
    ready(type());
  }

  /// Its members but ob_base are not set. Null with a Python error set.
  static Awaiter* allocate() noexcept {
    if (free_list_.count == 0) {
      return PyObject_GC_New(Awaiter, &type());
    }
    Awaiter* const awaiter = free_list_.awaiters[--free_list_.count];
    _Py_NewReference(&awaiter->ob_base);
    return awaiter;
  }

  /// Lets the awaiter be a part of a reference cycle.
  static void track(Awaiter& self) noexcept {
    if (PyObject_GC_IsTracked(&self.ob_base) == 0) PyObject_GC_Track(&self.ob_base);
  }

 private:
  struct FreeList {
    std::array<Awaiter*, 64> awaiters{};
    std::size_t count = 0;
  };

  static PyTypeObject& type() noexcept {
    static PyTypeObject instance{};
    return instance;
  }

  static Awaiter& of(PyObject* self) noexcept { return *reinterpret_cast<Awaiter*>(self); }

  static PySendResult send(PyObject* self, PyObject* value, PyObject** result) {
    return Awaiter::send(of(self), value, result);
  }

  static PyObject* send_method(PyObject* self, PyObject* value) {
    PyObject* result = nullptr;
    const PySendResult how = Awaiter::send(of(self), value, &result);
    return as_iterator(how, result);
  }

  /// await calls this since Python 3.12. An end without an exception means None.
  static PyObject* next(PyObject* self) {
    PyObject* result = nullptr;
    if (Awaiter::send(of(self), Py_None, &result) != PYGEN_RETURN) {
      return result;
    }
    const auto value = py::reinterpret_steal<py::object>(result);
    if (!value.is_none()) set_stop_iteration(value);
    return nullptr;
  }

  static PyObject* throw_method(PyObject* self, PyObject* const* args, Py_ssize_t num_args) {
    return can_be_thrown(args, num_args) ? Awaiter::throw_in(of(self), args, num_args) : nullptr;
  }

  static PyObject* close_method(PyObject* self, PyObject* /*unused*/) { return Awaiter::close(of(self)); }

  static int traverse(PyObject* self, visitproc visit, void* arg) { return Awaiter::traverse(of(self), visit, arg); }

  static int clear(PyObject* self) {
    Awaiter::clear(of(self));
    return 0;
  }

  static void dealloc(PyObject* self) {
    PyObject_GC_UnTrack(self);
    if constexpr (requires(Awaiter& awaiter) { Awaiter::drop(awaiter); }) Awaiter::drop(of(self));
    Awaiter::clear(of(self));
    if (free_list_.count < free_list_.awaiters.size()) {
      free_list_.awaiters[free_list_.count++] = &of(self);
    } else {
      PyObject_GC_Del(self);
    }
  }

  static PyTypeObject make(const char* name) {
    static const auto throw_function = reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&throw_method));
    static std::array methods{
        PyMethodDef{"send", &send_method, METH_O, nullptr},
        PyMethodDef{"throw", throw_function, METH_FASTCALL, nullptr},
        PyMethodDef{"close", &close_method, METH_NOARGS, nullptr},
        PyMethodDef{},
    };
    static PyAsyncMethods async{};
    async.am_send = &send;
    PyTypeObject type = static_type(name, sizeof(Awaiter), &dealloc, Py_TPFLAGS_HAVE_GC);
    type.tp_traverse = &traverse;
    type.tp_clear = &clear;
    type.tp_as_async = &async;
    type.tp_iter = &PyObject_SelfIter;
    type.tp_iternext = &next;
    type.tp_methods = methods.data();
    if constexpr (requires { Awaiter::extend(type); }) Awaiter::extend(type);
    return type;
  }

  static constinit inline FreeList free_list_{};
};

}  // namespace pydoca::bindings
