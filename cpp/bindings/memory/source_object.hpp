/// Python's BufInventory and BufPool, and what they have in common.
#pragma once

#include <pydoca/buf_inventory.hpp>
#include <pydoca/buf_pool.hpp>

#include "call/reader.hpp"
#include "call/scope.hpp"
#include "convert/collectable.hpp"
#include "convert/pybind.hpp"
#include "memory/buf_list.hpp"

#include <memory>

namespace pydoca::bindings {

/// It is closed when the engine's source has no elements any more.
template <class Source>
struct SourceObject {
  std::shared_ptr<Source> source;
  py::object user_data = py::none();

  void close() const { source->close(); }
  void enter() const { source->start(); }
  /// Releases its bufs that no task has, at the end of a with block.
  void release_idle() const {
    BufList::release_idle([this](const BufList::Element& element) { return &element.buf->source() == source.get(); });
  }
  /// Its state, and at most limit of the bufs that are out, for displays.
  py::tuple snapshot(std::size_t limit) const {
    const auto is_own = [this](const BufList::Element& element) { return &element.buf->source() == source.get(); };
    return py::make_tuple(state(), BufList::snapshot(is_own, limit));
  }
  const char* state() const noexcept {
    return source->is_started() ? "started" : source->num_elements() == 0 ? "closed" : "stopped";
  }
  void each_reference(References& references) { references.drop(user_data); }
};

struct InventoryObject : SourceObject<BufInventory> {};

struct PoolObject : SourceObject<BufPool> {
  py::object mmap;  ///< Python's Mmap

  void each_reference(References& references) {
    references.keep(mmap);
    SourceObject::each_reference(references);
  }
};

/// Binds what both have, except constructors and what gives bufs.
template <class Class>
void bind_source(Class& type, const char* stop_doc) {
  using T = Class::type;
  type.def(
          "start", [](T& self) { self.source->start(); },
          "Lets bufs be taken; does nothing when started. Raises BadStateError when closed.")
      .def(
          "stop", [](T& self) { self.source->stop(); }, stop_doc)
      .def("close", &T::close, "Releases the elements; idempotent. Raises InUseError while a buf is out.")
      .def_readwrite("user_data", &T::user_data, "Anything.")
      .def("_snapshot", &T::snapshot, "limit"_a);
  bind_scope(type);
  const auto read = reader(type, &T::source);
  read("num_elements", &BufSource::num_elements, "How many bufs can be out at a time; 0 once closed.");
  read("num_free_elements", &BufSource::num_free_elements, "How many more bufs can be taken now.");
  read("is_started", &BufSource::is_started, "Whether it is started, and gives bufs.");
}

}  // namespace pydoca::bindings
