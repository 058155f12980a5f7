#include "declarations.hpp"

#include "task_text.hpp"

namespace pydoca::capi {

namespace {

constexpr std::string_view task_pattern = R"(
/// A @kind@ task, a slot of its context's pool.
struct @task@;

/// Called by doca_pe_progress() when the task has completed, with the user data of the task and of the context. It may
/// submit the task again, free it, take other tasks, and stop the context.
typedef void (*@task@_completion_cb_t)(struct @task@* task, union doca_data task_user_data, union doca_data ctx_user_data);

/// Sets the callbacks of success and failure, which may be the same function, and @counted@.
/// The last call counts. @not_idle@ unless the context is idle, INVALID_VALUE without a callback and for more tasks than
/// a context may have.
@stability@ doca_error_t @task@_set_conf(struct @library@* @handle@, @task@_completion_cb_t task_completion_cb, @task@_completion_cb_t task_error_cb, @count_type@ @count@);
/// Takes a task, which is not submitted yet. BAD_STATE unless the context is running, NO_MEMORY when all tasks of this
/// kind are taken.
@stability@ doca_error_t @task@_@allocation@(struct @library@* @handle@, @operands@, union doca_data user_data, struct @task@** task);
/// The task for the functions of doca_pe.h: the same object.
@stability@ struct doca_task* @task@_@cast@(struct @task@* task);
)";

constexpr std::string_view operand_pattern = R"(
/// Sets the operand of the next submission; not while the task is in flight.
@stability@ @answer@ @task@_set_@operand@(struct @task@* task, @parameter_type@ @parameter@);
@stability@ @getter_type@ @task@_get_@operand@(const struct @task@* task);
)";

constexpr std::string_view connection_pattern = R"(
/// Sets the connection of the next submission; not while the task is in flight.
@stability@ void @task@_set_rdma_connection(struct @task@* task, const struct doca_rdma_connection* rdma_connection);
@stability@ const struct doca_rdma_connection* @task@_get_rdma_connection(const struct @task@* task);
)";

constexpr std::string_view result_pattern = R"(
/// @does@
@stability@ @type@ @task@_get_result_@name@(const struct @task@* task);
)";

constexpr std::string_view support_pattern = R"(
/// SUCCESS when the device has @kind@ tasks, else NOT_SUPPORTED.
@stability@ doca_error_t @library@_cap_task_@kind@_is_supported(const struct doca_devinfo* devinfo);
)";

std::string declare(const CLibrary& library, const CTask& task) {
  Words words = words_of(library, task);
  words.emplace_back("counted", library.counts_by_logarithm ? "log2 of the number of tasks" : "the number of tasks");
  words.emplace_back("not_idle", library.refuses_conf);
  std::string text = library.operation_enum != nullptr ? expand(support_pattern, words) : "";
  text += expand(task_pattern, words);
  text += task.has_connection ? expand(connection_pattern, words) : "";
  for (const COperand& operand : task.operands) {
    text += expand(operand_pattern, words_of(library, task, operand));
  }
  for (const CResult& result : task.results) {
    text += expand(result_pattern, words_of(library, task, result));
  }
  return text;
}

}  // namespace

std::string declarations_of(const CLibrary& library) {
  std::string text;
  for (const CTask& task : library.tasks) {
    text += declare(library, task);
  }
  return text.substr(1);
}

}  // namespace pydoca::capi
