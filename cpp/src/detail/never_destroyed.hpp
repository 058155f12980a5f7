#pragma once

#include <utility>

namespace pydoca::detail {

/// A value whose destructor never runs: what must outlive the process's interest in it, where nothing can be allocated
/// to keep it.
template <class T>
union NeverDestroyed {
  NeverDestroyed() noexcept : value() {}
  explicit NeverDestroyed(T&& kept) noexcept : value(std::move(kept)) {}
  NeverDestroyed(const NeverDestroyed&) = delete;
  NeverDestroyed& operator=(const NeverDestroyed&) = delete;
  ~NeverDestroyed() {}  // NOLINT(modernize-use-equals-default): that would be deleted

  T value;
};

}  // namespace pydoca::detail
