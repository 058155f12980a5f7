#pragma once

#include "backend/verbs/adapter/adapter.hpp"
#include "backend/verbs/adapter/async_events.hpp"
#include "backend/verbs/adapter/removal.hpp"
#include "backend/verbs/library/owned.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace pydoca::verbs {

/// An open device with its protection domain, to which everything on it belongs, as its memory and queues see it.
class Place {
 public:
  Place(const std::string& name, std::size_t ordinal);
  /// Uses the application's domain, which outlives it.
  Place(ibv_pd& borrowed, std::size_t ordinal);

  const Adapter& adapter() const noexcept { return adapter_; }
  ibv_context* context() const noexcept { return adapter_.context(); }
  ibv_pd* domain() const noexcept { return domain_.get(); }
  std::size_t ordinal() const noexcept { return ordinal_; }
  /// The index that is used unless the user chose another.
  unsigned gid_index() const noexcept { return gid_index_; }
  Removal& removal() noexcept { return removal_; }
  AsyncEvents& async_events() noexcept { return async_events_; }
  bool removed() const noexcept { return removal_.notice(); }
  /// Throws driver when the device has been removed.
  void require_present(std::string_view what) const;

 private:
  const Adapter adapter_;
  const std::size_t ordinal_;
  const unsigned gid_index_;
  const OwnedDomain domain_;
  AsyncEvents async_events_;
  mutable Removal removal_;
};

}  // namespace pydoca::verbs
