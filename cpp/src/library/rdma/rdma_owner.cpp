#include "library/rdma/rdma_owner.hpp"

#include "pydoca/progress_engine.hpp"

#include "detail/concat.hpp"

#include <vector>

namespace pydoca {

namespace {

using detail::concat;

}  // namespace

void library::RdmaOwner::require_running(std::string_view what) const {
  if (state() != ContextState::running) {
    throw Error(Status::bad_state, concat(what, ": ", explain_not_running()));
  }
  progress_engine()->require_thread(what);
}

void library::RdmaOwner::require_room(std::string_view what, Status refusal) const {
  require_running(what);
  if (connections_.size() >= options_.max_num_connections) {
    throw Error(refusal, concat(what, ": the context has ", connections_.size(),
                                ", as many as it takes: end one, or configure more (max_num_connections)"));
  }
}

void library::RdmaOwner::erase(pydoca::RdmaConnection& connection) noexcept {
  std::erase_if(connections_, [&](const auto& held) { return held.get() == &connection; });
}

void library::RdmaOwner::request_report() noexcept {
  reports_due_ = true;
  notify();
}

}  // namespace pydoca
