/// Python's Buf. The Python objects of a list's elements share the list, which owns the list's references.
#pragma once

#include <pydoca/buf.hpp>

#include "convert/view.hpp"

#include <pybind11/pybind11.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace pydoca::bindings {

class BufObject;

/// A list of bufs with all its references, which it drops at its end. While one Python object of an element or one task
/// has it, nothing of it comes free: not the descriptors, not the inventories, not the maps, not their memory.
struct BufList {
  struct Element {
    Buf* buf = nullptr;
    pybind11::object inventory;   ///< Python's BufInventory
    pybind11::object mmap;        ///< Python's Mmap
    BufObject* object = nullptr;  ///< the element's Python object, when there is one
  };

  BufList() = default;
  ~BufList();
  BufList(const BufList&) = delete;
  BufList& operator=(const BufList&) = delete;

  /// The place of buf in the list, or the number of elements.
  std::size_t index_of(const Buf& buf) const noexcept;

  std::vector<Element> elements;  ///< in the list's order; empty once its references are dropped
};

/// One element as Python sees it; one object per element, however it was reached. A task that has been given a buf
/// holds the object (std::shared_ptr<BufObject>, or the Python object itself) until it is freed or given another, and
/// calls get() before every submission: the buf may have been released meanwhile, though never during a flight. Lives
/// and dies with the GIL held.
class BufObject : public std::enable_shared_from_this<BufObject> {
 public:
  /// Takes over the one reference of a fresh buf. inventory and mmap are Python's.
  static std::shared_ptr<BufObject> adopt(Buf& buf, pybind11::object inventory, pybind11::object mmap);
  /// The same for a fresh copy of source's list.
  static std::shared_ptr<BufObject> adopt_copy(Buf& buf, const pybind11::object& inventory, const BufObject& source);

  /// For the above, which see that no element has two objects.
  BufObject(std::shared_ptr<BufList> list, std::size_t index) noexcept;
  ~BufObject();
  BufObject(const BufObject&) = delete;
  BufObject& operator=(const BufObject&) = delete;

  /// Throws bad_state once the buf has been released.
  Buf& get() const;
  bool is_released() const noexcept { return list_->elements.empty(); }

  /// Python's Mmap; throws bad_state once released.
  const pybind11::object& mmap() const;

  std::uint16_t inc_refcount();
  /// Releases the buf, with every element of its list, when it was the last reference.
  std::uint16_t dec_refcount();
  /// Drops every reference; idempotent. Throws not_permitted on an inner element, and while a task has the buf.
  void close();
  void enter() const { static_cast<void>(get()); }
  void chain(BufObject& other);
  void unchain(BufObject& element);
  /// The element that follows, or null; throws bad_state once released.
  std::shared_ptr<BufObject> next() const;
  std::shared_ptr<BufObject> last() const;

  /// An address was handed out: the memory stays until the object's end.
  void pin(const std::shared_ptr<const void>& owner) { pinned_ = owner; }

 private:
  std::size_t index() const noexcept { return list_->index_of(*buf_); }
  std::shared_ptr<BufObject> object_at(std::size_t index) const;
  void move_elements(std::size_t first, const std::shared_ptr<BufList>& target);

  std::shared_ptr<BufList> list_;
  Buf* buf_;
  std::shared_ptr<const void> pinned_;
};

/// Raises the exception of a buf call's failure, what having been attempted; returns for success.
void check_buf(Status status, const Buf& buf, std::string_view what);

/// What a task works on: a Buf's, or null for None; a TypeError for anything else, bad_state once released.
Buf* element_of(const pybind11::object& buf);

/// The data section, for views; throws bad_state once released, a BufferError when the memory is imported.
Bytes bytes_of(const BufObject& buf);
inline void pin(BufObject& buf, const std::shared_ptr<const void>& owner) { buf.pin(owner); }

}  // namespace pydoca::bindings
