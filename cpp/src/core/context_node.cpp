#include "core/context_node.hpp"

namespace pydoca::detail {

bool ContextNode::note_look(bool found) noexcept {
  if (found) {
    vain_looks_ = 0;
    return true;
  }
  if (++vain_looks_ == max_vain_looks) {
    vain_looks_ = 0;
    stop_looking();
    prepare_sleep();
  }
  return false;
}

void ContextNode::expect_change() noexcept {
  vain_looks_ = 0;
  begin_looking();
}

}  // namespace pydoca::detail
