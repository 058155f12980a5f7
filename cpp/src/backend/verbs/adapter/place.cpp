#include "backend/verbs/adapter/place.hpp"

#include "backend/verbs/library/failure.hpp"
#include "detail/concat.hpp"

#include <cerrno>

namespace pydoca::verbs {

namespace {

OwnedDomain create_domain(const Adapter& adapter) {
  OwnedDomain domain(library().alloc_pd(adapter.context()));
  if (domain == nullptr) {
    fail(errno, "open ", adapter.name(), ": allocate a protection domain");
  }
  return domain;
}

}  // namespace

Place::Place(const std::string& name, std::size_t ordinal)
    : adapter_(name),
      ordinal_(ordinal),
      gid_index_(adapter_.best_gid_index()),
      domain_(create_domain(adapter_)),
      removal_(*adapter_.context(), false, async_events_) {}

Place::Place(ibv_pd& borrowed, std::size_t ordinal)
    : adapter_(*borrowed.context),
      ordinal_(ordinal),
      gid_index_(adapter_.best_gid_index()),
      domain_(&borrowed, {.borrowed = true}),
      removal_(*adapter_.context(), true, async_events_) {}

void Place::require_present(std::string_view what) const {
  if (removed()) {
    throw Error(Status::driver,
                detail::concat(what, ": ", adapter_.name(), " was removed; close it, and open it when it is back"));
  }
}

}  // namespace pydoca::verbs
