#include "memory/buf_list.hpp"

#include <pydoca/buf_source.hpp>

#include "convert/convert.hpp"

#include <algorithm>
#include <utility>

namespace pydoca::bindings {

namespace {

constexpr std::size_t most_described = 3;

/// The lists that exist, the oldest first.
struct Known {
  BufList* first = nullptr;
  BufList* last = nullptr;
};

constinit Known all_lists;

std::string describe_element(const BufList::Element& element) {
  return format_text("{} bytes at {:#x} of a {} of {} elements{}", element.buf->len(), element.buf->head(),
                     py::type::handle_of(element.source).attr("__name__").cast<std::string>(),
                     element.buf->source().num_elements(), element.buf->in_flight() ? " (in flight)" : "");
}

py::tuple snapshot_of(const Buf& buf) {
  return py::make_tuple(buf.head(), buf.len(), buf.data(), buf.data_len(), buf.in_flight());
}

}  // namespace

BufList::BufList() noexcept { join(); }

BufList::~BufList() {
  leave();
  give_back();
}

void BufList::join() noexcept {
  previous_ = std::exchange(all_lists.last, this);
  (previous_ != nullptr ? previous_->next_ : all_lists.first) = this;
}

void BufList::leave() noexcept {
  (previous_ != nullptr ? previous_->next_ : all_lists.first) = next_;
  (next_ != nullptr ? next_->previous_ : all_lists.last) = previous_;
  next_ = nullptr;
}

void BufList::begin(Buf& buf, py::handle source, py::handle mmap, BufObject* object) {
  Element& only = elements.emplace_back();
  only.buf = &buf;
  // They were null: an assignment would ask whether an object ends.
  only.source.ptr() = Py_NewRef(source.ptr());
  only.mmap.ptr() = Py_NewRef(mmap.ptr());
  only.object = object;
  leave();
  join();  // this list is now the newest
}

BufList::Element BufList::end() noexcept {
  give_back();
  Element last = elements.empty() ? Element{} : std::move(elements.front());
  elements.clear();
  return last;
}

/// This fails while a task of the engine has the list. The list then leaks, which is better than two uses of one buf.
void BufList::give_back() noexcept {
  if (elements.empty()) return;
  Buf& head = *elements.front().buf;
  bool left = true;
  while (left) {
    std::uint16_t previous = 0;
    left = head.dec_refcount(&previous) == Status::success && previous > 1;
  }
}

void BufList::release() {
  Buf& head = *elements.front().buf;
  for (std::uint16_t left = head.refcount(); left > 0; --left) static_cast<void>(head.dec_refcount());
  // The last step: maps may end here, and run Python code.
  const std::vector<Element> gone = std::exchange(elements, {});
}

std::size_t BufList::index_of(const Buf& buf) const noexcept {
  const auto found = std::ranges::find(elements, &buf, &Element::buf);
  return static_cast<std::size_t>(found - elements.begin());
}

void BufList::release_idle(const Predicate& wanted) {
  std::vector<std::shared_ptr<BufList>> lists;  // a release may end other lists
  for (BufList* list = all_lists.first; list != nullptr; list = list->next_) {
    if (std::ranges::any_of(list->elements, wanted)) lists.push_back(list->shared_from_this());
  }
  for (const std::shared_ptr<BufList>& list : lists) {
    if (!list->elements.empty() && !list->is_in_flight()) list->release();
  }
}

std::string BufList::describe(const Predicate& wanted) {
  std::string text;
  std::size_t count = 0;
  for (const BufList* list = all_lists.first; list != nullptr; list = list->next_) {
    for (const Element& element : list->elements) {
      if (!wanted(element)) continue;
      if (++count <= most_described) text += (text.empty() ? ": " : ", ") + describe_element(element);
    }
  }
  if (count > most_described) text += " and " + std::to_string(count - most_described) + " more";
  return count == 0 ? text : text + "; close them, or drop every reference to them (names, tasks)";
}

py::list BufList::snapshot(const Predicate& wanted, std::size_t limit) {
  py::list found;
  for (const BufList* list = all_lists.first; list != nullptr && found.size() < limit; list = list->next_) {
    for (const Element& element : list->elements) {
      if (found.size() < limit && wanted(element)) found.append(snapshot_of(*element.buf));
    }
  }
  return found;
}

py::list BufList::snapshot(std::size_t first, std::size_t limit) const {
  py::list found;
  for (std::size_t index = first; index < elements.size() && found.size() < limit; ++index) {
    found.append(snapshot_of(*elements[index].buf));
  }
  return found;
}

}  // namespace pydoca::bindings
