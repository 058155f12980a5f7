#pragma once

#include "pydoca/status.hpp"
#include "pydoca/task.hpp"

#include "library/operands.hpp"

#include <type_traits>

namespace pydoca::detail {

/// A setter of a task. in_use while the task is submitted or handed over, invalid_value when it has no such operand.
template <class Value>
Status set_operand(const Task& task, Value& field, const std::type_identity_t<Value>& value,
                   bool has_operand = true) noexcept {
  if (task.state() == Task::State::submitted || task.is_handed_over()) {
    return Status::in_use;
  }
  if (!has_operand) {
    return Status::invalid_value;
  }
  if constexpr (std::is_same_v<Value, Buf*>) {
    if (task.state() == Task::State::claimed) {
      Operands::promise(field, -1, Promise::claim);
      Operands::promise(value, 1, Promise::claim);
    }
  }
  field = value;
  return Status::success;
}

}  // namespace pydoca::detail
