#include "memory/buf_object.hpp"

#include <pydoca/status.hpp>

#include "call/raw_method.hpp"
#include "convert/convert.hpp"
#include "memory/mmap_object.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

namespace pydoca::bindings {

namespace {

const char* advice(Status status) {
  switch (status) {
    case Status::in_use:
      return "a task has it; wait until the task has completed";
    case Status::not_permitted:
      return "it must be the head of a list; for this call it must not be shared, and no task may have it";
    case Status::invalid_value:
      return "the data section must lie within the buf";
    case Status::too_big:
      return "a buf has at most 65535 references";
    default:
      return "";
  }
}

}  // namespace

void check_buf(Status status, const Buf& buf, std::string_view what) {
  if (status == Status::success) return;
  const std::string_view hint = *advice(status) != '\0' ? advice(status) : error_descr(status);
  raise(status, format_text("{} (buf of {} bytes at {:#x}): {}", to_str(what), buf.len(), buf.head(), to_str(hint)));
}

BufObject::BufObject(std::shared_ptr<BufList> list, std::size_t index) noexcept
    : list_(std::move(list)), buf_(list_->elements[index].buf) {
  list_->elements[index].object = this;
}

BufObject::~BufObject() {
  if (!is_released()) list_->elements[index()].object = nullptr;
}

std::shared_ptr<BufObject> BufObject::adopt(Buf& buf, py::object inventory, py::object mmap) {
  auto list = std::make_shared<BufList>();
  list->elements.push_back({&buf, std::move(inventory), std::move(mmap), nullptr});
  return std::make_shared<BufObject>(std::move(list), 0);
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

Buf& BufObject::get() const {
  if (is_released()) throw Error(Status::bad_state, "the buf has been released; get another from the inventory");
  return *buf_;
}

const py::object& BufObject::mmap() const {
  static_cast<void>(get());
  return list_->elements[index()].mmap;
}

std::uint16_t BufObject::inc_refcount() {
  std::uint16_t previous = 0;
  check_buf(get().inc_refcount(&previous), *buf_, "inc_refcount");
  return previous;
}

std::uint16_t BufObject::dec_refcount() {
  std::uint16_t previous = 0;
  check_buf(get().dec_refcount(&previous), *buf_, "dec_refcount");
  if (previous == 1) {
    // The last step: maps may end here, and run Python code.
    const std::vector<BufList::Element> gone = std::exchange(list_->elements, {});
  }
  return previous;
}

void BufObject::close() {
  while (!is_released()) dec_refcount();
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
  check_buf(get().chain(other.get()), *buf_, "chain");
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
    raise(Status::invalid_value, "unchain: the given element is not a later element of this list");
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

std::shared_ptr<BufObject> BufObject::last() const {
  static_cast<void>(get());
  return object_at(list_->elements.size() - 1);
}

Buf* element_of(const py::object& buf) {
  if (buf.is_none()) return nullptr;
  return &argument_of<BufObject>(buf.ptr(), "a pydoca.Buf").get();
}

Bytes bytes_of(const BufObject& object) {
  const Buf& buf = object.get();
  Bytes bytes = object.mmap().cast<const MmapObject&>().bytes();
  bytes.data = reinterpret_cast<void*>(buf.data());
  bytes.size = buf.data_len();
  return bytes;
}

}  // namespace pydoca::bindings
