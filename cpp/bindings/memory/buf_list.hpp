/// The references to a list of bufs that Python has.
#pragma once

#include <pydoca/buf.hpp>

#include "convert/pybind.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace pydoca::bindings {

class BufObject;

/// A list of bufs with all its references, which it drops at its end. While a Python object of one element, or a task,
/// has it, nothing of the list is freed: neither the descriptors, nor what gave them, nor the maps, nor their memory.
/// All that exist are known, for the ends of with blocks and for messages. Needs the GIL.
struct BufList : NotCopied, std::enable_shared_from_this<BufList> {
  struct Element {
    Buf* buf = nullptr;
    py::object source;            ///< Python's BufInventory or BufPool
    py::object mmap;              ///< Python's Mmap
    BufObject* object = nullptr;  ///< the Python object of the element; null when there is none
  };
  using Predicate = std::function<bool(const Element&)>;

  BufList() noexcept;
  ~BufList();

  /// Makes buf, of which the caller has the one reference, the only element of an empty list. Allocates nothing where
  /// there is room for an element.
  void begin(Buf& buf, py::handle source, py::handle mmap, BufObject* object);
  /// Ends a list of one element at most, which begin() can use again, and returns that element.
  Element end() noexcept;
  /// Drops every reference. No task may have the list. What Python has of it answers bad_state from now on.
  void release();
  bool is_in_flight() const noexcept { return !elements.empty() && elements.front().buf->in_flight(); }
  /// The index of buf in the list, or the number of elements.
  std::size_t index_of(const Buf& buf) const noexcept;

  /// Releases the lists with a wanted element that no task has.
  static void release_idle(const Predicate& wanted);
  /// A description of the wanted elements, with what gave them, and what to do. Empty when there is none.
  static std::string describe(const Predicate& wanted);
  /// For displays: (head, len, data, data_len, in flight) of at most limit wanted elements, the oldest lists first.
  static py::list snapshot(const Predicate& wanted, std::size_t limit);
  /// The same of this list's elements from first on.
  py::list snapshot(std::size_t first, std::size_t limit) const;

  std::vector<Element> elements;  ///< the elements in the list's order; empty once the references are dropped

 private:
  // The lists that exist know each other.
  void join() noexcept;
  void leave() noexcept;
  void give_back() noexcept;

  BufList* previous_ = nullptr;
  BufList* next_ = nullptr;
};

}  // namespace pydoca::bindings
