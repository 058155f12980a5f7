#pragma once

#include "convert/pybind.hpp"
#include "convert/pybind_internals.hpp"

#include <new>
#include <utility>
#include <vector>

namespace pydoca::bindings {

/// What Python's cycle collector does with the references of an object: it visits all of them, or it drops those that
/// the object can do without. Dropping one may run code that uses the object; therefore the objects end only with this.
class References {
 public:
  References() = default;
  References(visitproc visit, void* arg) noexcept : visit_(visit), arg_(arg) {}

  /// References that the object needs until its end.
  template <typename... Objects>
  void keep(const Objects&... objects) {
    (see(objects), ...);
  }
  /// References that become None.
  template <typename... Objects>
  void drop(Objects&... objects) {
    (replace(objects, py::none()), ...);
  }
  /// References that become null.
  template <typename... Objects>
  void reset(Objects&... objects) {
    (replace(objects, {}), ...);
  }
  /// A sequence that becomes empty.
  template <typename Range>
  void drop_all(Range& objects) {
    for (py::object& object : objects) reset(object);
    if (visit_ == nullptr) objects.clear();
  }
  bool are_dropped() const noexcept { return visit_ == nullptr; }
  /// The result of the last visit; not 0 ends the visits.
  int stop() const noexcept { return stop_; }

 private:
  void see(const py::object& object) {
    if (visit_ != nullptr && stop_ == 0 && object) stop_ = visit_(object.ptr(), arg_);
  }
  void replace(py::object& object, py::object replacement) {
    see(object);
    if (visit_ != nullptr) return;
    try {
      std::swap(dropped_.emplace_back(std::move(replacement)), object);
    } catch (const std::bad_alloc&) {  // the object keeps its reference; the collector calls C code
    }
  }

  visitproc visit_ = nullptr;
  void* arg_ = nullptr;
  int stop_ = 0;
  std::vector<py::object> dropped_;
};

/// Does what dealloc, the tp_dealloc of the object's class, has to do, by end. An object that ends drops its
/// references, so a long chain of objects, each the user_data of the next one, would end within one another and exhaust
/// the stack. Python's trashcan ends only some of them so, and calls dealloc of the others thereafter. The class takes
/// part in garbage collection; end gets the object untracked.
template <void (*dealloc)(PyObject*), void (*end)(PyObject*)>
void end_nested(PyObject* self) {
  PyObject_GC_UnTrack(self);
// CPython's macro casts as C does.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
  Py_TRASHCAN_BEGIN(self, dealloc);
#pragma GCC diagnostic pop
  end(self);
  Py_TRASHCAN_END;
}

/// The tp_dealloc of collectable classes.
inline void end_collectable(PyObject* self) { end_nested<&end_collectable, &end_instance>(self); }

/// Shows the cycle collector the references of T's instances, and of instances of bound subclasses, by
/// T::each_reference(References&), which is virtual when subclasses have more. The collector calls
/// T::finalize(), if there is one, while the object still has its references. Long chains of instances may end at once.
template <typename T>
py::custom_type_setup collectable() {
  return py::custom_type_setup([](PyHeapTypeObject* heap_type) {
    PyTypeObject& type = heap_type->ht_type;
    type.tp_flags |= Py_TPFLAGS_HAVE_GC;
    type.tp_dealloc = &end_collectable;
    type.tp_traverse = [](PyObject* self, visitproc visit, void* arg) {
      Py_VISIT(Py_TYPE(self));
      References references(visit, arg);
      if (is_whole(self)) py::cast<T&>(py::handle(self)).each_reference(references);
      return references.stop();
    };
    type.tp_clear = [](PyObject* self) {
      References references;
      if (is_whole(self)) py::cast<T&>(py::handle(self)).each_reference(references);
      return 0;
    };
    if constexpr (requires(T& object) { object.finalize(); }) {
      type.tp_finalize = [](PyObject* self) {
        if (is_whole(self)) py::cast<T&>(py::handle(self)).finalize();
      };
    }
  });
}

}  // namespace pydoca::bindings
