#include "library/task_functions.hpp"

#include "pydoca/log.hpp"

#include <string>

namespace pydoca::capi {

void log_failure(const Task& task) noexcept {
  const Status status = task.status();
  if (status == Status::shutdown) {
    return;
  }
  log::engine(log::Level::error, "c", [&] {
    std::string line("a task of ");
    return line.append(task.context().kind()).append(" has failed: ").append(task.explain(status));
  });
}

doca_error_t refuse_change(Status status, std::source_location where) noexcept {
  const Call call(where);
  switch (status) {
    case Status::in_use:
      return call.refuse(status, "the task is in flight; wait for its completion");
    case Status::bad_state:
      return call.refuse(status,
                         "the task's message has begun, or has not: dst and algorithm are set before its first piece, "
                         "its end after that");
    default:
      return call.refuse(status, "the task is NULL, or the value is not one of this operand");
  }
}

}  // namespace pydoca::capi
