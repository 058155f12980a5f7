#pragma once

#include "backend/verbs/library/library.hpp"
#include "detail/thread/thread_token.hpp"

#include <memory>

namespace pydoca::verbs {

/// Destroys an object of the library. A forked child does not: the kernel would take the child for its parent.
template <class T, auto destroy>
struct GiveBack {
  std::uint32_t forks = detail::fork_count();
  bool borrowed = false;  ///< it is the application's

  void operator()(T* object) const noexcept {
    if (!borrowed && forks == detail::fork_count()) {
      (library().*destroy)(object);
    }
  }
};

template <class T, auto destroy>
using Owned = std::unique_ptr<T, GiveBack<T, destroy>>;

using OwnedContext = Owned<ibv_context, &Library::close_device>;
using OwnedDomain = Owned<ibv_pd, &Library::dealloc_pd>;
using OwnedRegion = Owned<ibv_mr, &Library::dereg_mr>;
using OwnedChannel = Owned<ibv_comp_channel, &Library::destroy_comp_channel>;
using OwnedCompletions = Owned<ibv_cq, &Library::destroy_cq>;
using OwnedReceives = Owned<ibv_srq, &Library::destroy_srq>;
using OwnedPair = Owned<ibv_qp, &Library::destroy_qp>;

}  // namespace pydoca::verbs
