/// Python's Buf. The Python objects of a list's elements share one BufList, which has the list's references.
#pragma once

#include <pydoca/buf.hpp>

#include "call/raw_method.hpp"
#include "convert/collectable.hpp"
#include "convert/pybind.hpp"
#include "convert/view.hpp"
#include "memory/buf_list.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace pydoca::bindings {

/// One element as Python sees it. An element has at most one object. A task that was given a buf holds the object
/// (std::shared_ptr<BufObject>, or the Python object) until it is freed or given another buf. It calls get() before
/// every submission: the buf may have been released since the last one, though never in flight. Construction and
/// destruction need the GIL.
class BufObject : public std::enable_shared_from_this<BufObject>, NotCopied {
 public:
  /// The Python object of a new buf, whose one reference it takes over, also where the object finds no memory. source
  /// (a BufInventory or BufPool) and mmap are Python objects.
  static py::object make(Buf& buf, py::handle source, py::handle mmap);
  /// The tp_dealloc of the class. The object of a buf that is in no list stays, for a new buf: to make an object and to
  /// end it costs more than a short copy.
  static void dealloc(PyObject* self);
  /// Does the same for a new copy of source's list.
  static std::shared_ptr<BufObject> adopt_copy(Buf& buf, const py::object& inventory, const BufObject& source);

  /// Called by make(), adopt_copy() and object_at(), which ensure that no element has two objects.
  BufObject(std::shared_ptr<BufList> list, std::size_t index) noexcept;
  ~BufObject();

  /// Throws bad_state once the buf has been released.
  Buf& get() const {
    if (is_released()) [[unlikely]]
      refuse_released();
    return *buf_;
  }
  bool is_released() const noexcept { return list_->elements.empty(); }

  /// Python's Mmap. Throws bad_state once released.
  const py::object& mmap() const;

  std::uint16_t inc_refcount();
  /// Drops one reference; dropping the last one releases the buf with every element of its list.
  std::uint16_t dec_refcount();
  /// Drops every reference; idempotent. Throws not_permitted on an inner element, and while a task has the buf.
  void close();
  void enter() const { static_cast<void>(get()); }
  void chain(BufObject& other);
  void chain_tail(const BufObject& tail, BufObject& other);
  void unchain(BufObject& element);
  /// The next element, or null. Throws bad_state once released.
  std::shared_ptr<BufObject> next() const;
  std::shared_ptr<BufObject> last() const;

  /// For displays: the index of this element, the number of elements, the references and the name of what gave it; then
  /// the index of the first element, and at most limit elements from there on, with this one among them. Throws
  /// bad_state once released.
  py::tuple snapshot(std::size_t limit) const;

  /// An address was given out: the memory stays until the object's end.
  void pin(const std::shared_ptr<const void>& owner) { pinned_ = owner; }

  /// Those of the list, if this is the list's only object. Several objects share them, and none owns them alone: the
  /// collector then does not see them, and frees none of the objects.
  void each_reference(References& references) const;

 private:
  [[noreturn, gnu::cold]] static void refuse_released();
  /// Gives everything back, and leaves self, which has no references, for a new buf. False when it must end.
  bool join_free_list(PyObject* self) noexcept;
  /// dec_refcount(), under that name in messages.
  std::uint16_t drop_reference(std::string_view what);
  std::size_t index() const noexcept { return list_->index_of(*buf_); }
  std::shared_ptr<BufObject> object_at(std::size_t index) const;
  void move_elements(std::size_t first, const std::shared_ptr<BufList>& target);

  std::shared_ptr<BufList> list_;
  Buf* buf_;
  std::shared_ptr<const void> pinned_;
};

/// Throws the exception for a failed call on a buf; what names the operation. Returns for success.
void check_buf(Status status, const Buf& buf, std::string_view what);

/// Whether it is a Buf.
inline bool is_buf(PyObject* object) { return PyObject_TypeCheck(object, BoundType<BufObject>::get()) != 0; }

/// The buf of a Buf that is not released; null for every other object, for Bufs of classes made in Python, and for
/// null.
[[gnu::always_inline]] inline Buf* plain_buf(PyObject* object) {
  if (object == nullptr || Py_TYPE(object) != BoundType<BufObject>::get()) return nullptr;
  const auto* const buf = static_cast<const BufObject*>(first_value(object));
  return buf != nullptr && !buf->is_released() ? &buf->get() : nullptr;
}

/// What element_of() does for all that plain_buf() does not know.
[[gnu::cold]] Buf* other_element_of(const py::object& buf);

/// The operand for a task: the Buf's, or null for None and for no object. Throws TypeError for any other type,
/// bad_state once released.
inline Buf* element_of(const py::object& buf) {
  Buf* const plain = plain_buf(buf.ptr());
  return plain != nullptr ? plain : other_element_of(buf);
}

/// The data section, for views. Throws bad_state once released, BufferError when the memory is imported.
Bytes bytes_of(const BufObject& buf);
inline void pin(BufObject& buf, const std::shared_ptr<const void>& owner) { buf.pin(owner); }

}  // namespace pydoca::bindings
