#pragma once

#include "pydoca/status.hpp"

#include "base/handle.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace pydoca::capi {

/// The lists of one kind of elements that C programs hold: arrays of pointers, known by their address. Any thread may
/// call it.
template <class Element>
class Lists {
 public:
  /// Hands out a list of as many elements as there are values; set(element, value) fills each. Throws std::bad_alloc.
  template <class Sequence, class Set>
  Element** add(const Sequence& values, Set set) {
    List list;
    list.array = std::make_unique<Element*[]>(std::max<std::size_t>(values.size(), 1));
    const std::lock_guard lock(mutex_);
    lists_.reserve(lists_.size() + 1);
    list.elements.reserve(values.size());
    for (const auto& value : values) {
      Element& element = *list.elements.emplace_back(Slab<Element>::make());
      list.array[list.elements.size() - 1] = &element;
      set(element, value);
    }
    return lists_.emplace_back(std::move(list)).array.get();
  }

  /// Ends the list and its elements. Throws invalid_value when there is no such list, or no longer.
  void remove(Element* const* array) {
    const std::lock_guard lock(mutex_);
    const auto found =
        std::find_if(lists_.begin(), lists_.end(), [&](const List& list) { return list.array.get() == array; });
    if (found == lists_.end()) {
      throw Error(Status::invalid_value, "there is no such list; it was destroyed, or is of another kind");
    }
    lists_.erase(found);
  }

 private:
  struct End {
    void operator()(Element* element) const noexcept { Slab<Element>::end(*element); }
  };
  struct List {
    std::unique_ptr<Element*[]> array;
    std::vector<std::unique_ptr<Element, End>> elements;
  };

  std::mutex mutex_;
  std::vector<List> lists_;
};

}  // namespace pydoca::capi
