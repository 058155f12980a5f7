#include "memory/buf_object.hpp"

#include <pydoca/handles.hpp>
#include <pydoca/status.hpp>

#include "call/raw_method.hpp"
#include "convert/convert.hpp"
#include "memory/mmap_object.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <string>
#include <utility>

namespace pydoca::bindings {

namespace {

struct FreeList {
  std::array<PyObject*, 128> objects{};
  std::size_t count = 0;
};

/// Objects without a reference and without a buf. Needs the GIL.
constinit FreeList free_list;

std::string advice(Status status, const Buf& buf) {
  if (status == Status::not_permitted && !buf.is_first()) {
    return "it is a later element of a list; use the list's head, or unchain it first";
  }
  switch (status) {
    case Status::in_use:
    case Status::not_permitted:
      return "a task has it; wait until the task has completed";
    case Status::invalid_value:
      return "the data section must lie within the buf's " + std::to_string(buf.len()) + " bytes";
    case Status::too_big:
      return "it has 65535 references, the most that a buf can have";
    default:
      return std::string(error_descr(status));
  }
}

std::string describe(const Buf& buf) { return format_text("buf of {} bytes at {:#x}", buf.len(), buf.head()); }

/// Why other cannot join buf's list, or the list of that one cannot grow.
std::string chain_obstacle(const Buf& buf, const Buf& other) {
  if (&buf == &other) return "a buf cannot be chained to itself; give another one";
  const bool is_first_wrong = !buf.is_first() || buf.in_flight();
  const std::string name = is_first_wrong ? "it" : "the given " + describe(other);
  const Buf& wrong = is_first_wrong ? buf : other;
  if (wrong.in_flight()) return "a task has " + name + "; wait until the task has completed";
  if (!wrong.is_first()) return name + " is a later element of a list; use the list's head, or unchain it first";
  return name + " has " + std::to_string(other.refcount()) + " references, and may have 1; call its dec_refcount()";
}

}  // namespace

Buf* other_element_of(const py::object& buf) {
  if (!buf || buf.is_none()) return nullptr;
  return &argument_of<BufObject>(buf.ptr(), "a pydoca.Buf").get();
}

void check_buf(Status status, const Buf& buf, std::string_view what) {
  if (status == Status::success) return;
  raise(status, std::string(what) + " (" + describe(buf) + "): " + advice(status, buf));
}

BufObject::BufObject(std::shared_ptr<BufList> list, std::size_t index) noexcept
    : list_(std::move(list)), buf_(list_->elements[index].buf) {
  list_->elements[index].object = this;
}

BufObject::~BufObject() {
  if (!is_released()) list_->elements[index()].object = nullptr;
}

py::object BufObject::make(Buf& buf, py::handle source, py::handle mmap) {
  BufRef taken(&buf);
  if (free_list.count == 0) {
    auto list = std::make_shared<BufList>();
    list->elements.reserve(1);
    list->begin(*taken.release(), source, mmap, nullptr);
    return py::cast(std::make_shared<BufObject>(std::move(list), 0));
  }
  PyObject* const kept = free_list.objects[free_list.count - 1];
  BufObject& self = *static_cast<BufObject*>(first_value(kept));
  self.list_->elements.reserve(1);
  self.buf_ = taken.release();
  self.list_->begin(*self.buf_, source, mmap, &self);
  --free_list.count;
  _Py_NewReference(kept);
  PyObject_GC_Track(kept);
  return py::reinterpret_steal<py::object>(kept);
}

void BufObject::dealloc(PyObject* self) {
  PyObject_GC_UnTrack(self);
  // A Python subclass may hold more state than this code can clear.
  auto* const object =
      Py_TYPE(self)->tp_dealloc == &BufObject::dealloc ? static_cast<BufObject*>(first_value(self)) : nullptr;
  if (object == nullptr || has_weak_references(self) || !object->join_free_list(self)) end_instance(self);
}

bool BufObject::join_free_list(PyObject* self) noexcept {
  const bool is_alone = list_.use_count() == 1 && list_->elements.size() <= 1 && num_shares(self) == 1;
  if (!is_alone || free_list.count == free_list.objects.size()) return false;
  // The last step drops them: maps may end then, and run Python code.
  const BufList::Element last = list_->end();
  const auto pinned = std::exchange(pinned_, nullptr);
  free_list.objects[free_list.count++] = self;
  return true;
}

std::shared_ptr<BufObject> BufObject::adopt_copy(Buf& buf, const py::object& inventory, const BufObject& source) {
  auto list = std::make_shared<BufList>();
  Buf* copied = &buf;
  for (const BufList::Element& element : source.list_->elements) {
    list->elements.push_back({copied, inventory, element.mmap, nullptr});
    copied = copied->next();
  }
  return std::make_shared<BufObject>(std::move(list), 0);
}

void BufObject::refuse_released() { throw Error(Status::bad_state, "the buf has been released; get another"); }

const py::object& BufObject::mmap() const {
  static_cast<void>(get());
  return list_->elements[index()].mmap;
}

std::uint16_t BufObject::inc_refcount() {
  std::uint16_t previous = 0;
  check_buf(get().inc_refcount(&previous), *buf_, "inc_refcount");
  return previous;
}

std::uint16_t BufObject::dec_refcount() { return drop_reference("dec_refcount"); }

std::uint16_t BufObject::drop_reference(std::string_view what) {
  std::uint16_t previous = 0;
  check_buf(get().dec_refcount(&previous), *buf_, what);
  if (previous == 1) {
    // The last step: maps may end here, and run Python code.
    const std::vector<BufList::Element> gone = std::exchange(list_->elements, {});
  }
  return previous;
}

void BufObject::close() {
  while (!is_released()) drop_reference("close");
}

void BufObject::move_elements(std::size_t first, const std::shared_ptr<BufList>& target) {
  auto& from = list_->elements;
  target->elements.reserve(target->elements.size() + from.size() - first);
  const std::shared_ptr<BufList> source = list_;  // keeps it: its objects, including this one, drop their references
  for (auto element = source->elements.begin() + static_cast<std::ptrdiff_t>(first); element != source->elements.end();
       ++element) {
    if (element->object != nullptr) element->object->list_ = target;
    target->elements.push_back(std::move(*element));
  }
  source->elements.erase(source->elements.begin() + static_cast<std::ptrdiff_t>(first), source->elements.end());
}

void BufObject::chain(BufObject& other) {
  const Status status = get().chain(other.get());
  if (status != Status::success) {
    raise(status, "chain (" + describe(*buf_) + "): " + chain_obstacle(*buf_, *other.buf_));
  }
  other.move_elements(0, list_);
}

void BufObject::chain_tail(const BufObject& tail, BufObject& other) {
  if (&tail.get() != &get().last()) {
    raise(Status::not_permitted, "chain_tail: tail is not the last element of this list; chain() finds that itself");
  }
  check_buf(get().chain_tail(tail.get(), other.get()), *buf_, "chain_tail");
  other.move_elements(0, list_);
}

void BufObject::unchain(BufObject& element) {
  Buf& head = get();
  Buf& cut = element.get();
  if (element.list_ != list_ || element.index() == 0) {
    raise(Status::invalid_value, "unchain (" + describe(head) + "): the given " + describe(cut) +
                                     " is not a later element of this list; give one of list(buf)[1:]");
  }
  check_buf(head.unchain(cut), head, "unchain");
  move_elements(element.index(), std::make_shared<BufList>());
}

std::shared_ptr<BufObject> BufObject::object_at(std::size_t index) const {
  BufObject* const object = list_->elements[index].object;
  return object != nullptr ? object->shared_from_this() : std::make_shared<BufObject>(list_, index);
}

std::shared_ptr<BufObject> BufObject::next() const {
  static_cast<void>(get());
  const std::size_t following = index() + 1;
  return following < list_->elements.size() ? object_at(following) : nullptr;
}

py::tuple BufObject::snapshot(std::size_t limit) const {
  static_cast<void>(get());
  const std::size_t own = index();
  const std::size_t first = own < limit ? 0 : own - limit / 2;
  const BufList::Element& element = list_->elements[own];
  return py::make_tuple(own, list_->elements.size(), list_->elements.front().buf->refcount(),
                        py::type::handle_of(element.source).attr("__name__"), first, list_->snapshot(first, limit));
}

void BufObject::each_reference(References& references) const {
  if (list_.use_count() != 1) return;
  for (const BufList::Element& element : list_->elements) references.keep(element.source, element.mmap);
}

std::shared_ptr<BufObject> BufObject::last() const {
  static_cast<void>(get());
  return object_at(list_->elements.size() - 1);
}

Bytes bytes_of(const BufObject& object) {
  const Buf& buf = object.get();
  Bytes bytes = object.mmap().cast<const MmapObject&>().bytes();
  bytes.data = reinterpret_cast<void*>(buf.data());
  bytes.size = buf.data_len();
  return bytes;
}

}  // namespace pydoca::bindings
