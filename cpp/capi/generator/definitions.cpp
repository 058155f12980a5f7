#include "definitions.hpp"

#include "task_text.hpp"

#include <stdexcept>

namespace pydoca::capi {

namespace {

constexpr std::string_view file_pattern = R"(// Made by cpp/capi/generator from the library's table of tasks.
#include "library/@library@.hpp"

#include "library/task_functions.hpp"

using namespace pydoca;
using namespace pydoca::capi;

@traits@@functions@)";

constexpr std::string_view traits_pattern = R"(template <>
struct pydoca::capi::EngineOf<@task@> {
  using Task = pydoca::@engine_task@;
  using Library = @library@;
};
)";

constexpr std::string_view task_pattern = R"(
doca_error_t @task@_set_conf(@library@* @handle@, @task@_completion_cb_t task_completion_cb, @task@_completion_cb_t task_error_cb, @count_type@ @count@) {
  return set_task_conf(Call(), @handle@, TaskCallbacks<@task@>{task_completion_cb, task_error_cb}, @counted@,
                       [](auto& engine, auto on_success, auto on_error, std::uint32_t number) {
                         engine.@configure@on_success, on_error, number);
                       });
}

doca_error_t @task@_alloc_init(@library@* @handle@, @operands@, doca_data user_data, @task@** task) {
  if (!can_take(@handle@, task)) [[unlikely]] {
    return refuse_to_take(@handle@, task, std::source_location::current());
  }
@take@}

doca_task* @task@_@cast@(@task@* task) { return as_task(task); }
)";

constexpr std::string_view take_pattern = R"(  return as_c(@handle@->engine().@taking@, user_data.u64, taken(task)));
)";
constexpr std::string_view fetching_take_pattern =
    R"(  const Status status = @handle@->engine().@taking@, user_data.u64, taken(task));
  if (status == Status::success) [[likely]] {
    static_cast<void>(engine_task(**task).set_result_address(@fetched@));
  }
  return as_c(status);
)";

constexpr std::string_view setter_pattern = R"(
@answer@ @task@_set_@operand@(@task@* task, @parameter_type@ @parameter@) {
  @set_operand@task, [&](auto& engine) noexcept { return @set@; }@end@
}
)";
constexpr std::string_view getter_pattern = R"(
@getter_type@ @task@_get_@operand@(const @task@* task) {
  return task != nullptr ? @got@ : @nothing@;
}
)";

constexpr std::string_view support_pattern = R"(
doca_error_t @library@_cap_task_@kind@_is_supported(const doca_devinfo* devinfo) {
  return answer_support(Call(), devinfo, [](const DeviceInfo& info) noexcept {
    return @context@::is_supported(info, @operation@);
  });
}
)";

/// What the engine's methods call the operand.
std::string engine_name(const Operand& traits) {
  return traits.type == OperandType::fetched ? "result_address" : traits.parameter;
}

/// A parameter as the engine's method takes it.
std::string engine_value(const Operand& traits, const COperand& operand) {
  if (traits.is_buf()) {
    return std::string("buf_of(") + operand.parameter + ")";
  }
  if (traits.type == OperandType::enumerator) {
    return std::string("static_cast<") + operand.engine_type + ">(" + operand.parameter + ")";
  }
  return operand.parameter;
}

/// What the engine's getter gives, as C's returns it.
std::string c_value(const Operand& traits, const COperand& operand) {
  const std::string value = "engine_task(*task)." + engine_name(traits) + "()";
  if (traits.is_buf()) {
    return "as_c(" + value + ")";
  }
  return operand.type != nullptr ? std::string("static_cast<") + operand.type + ">(" + value + ")" : value;
}

std::string nothing_of(const Operand& traits, const COperand& operand) {
  if (traits.is_buf() || traits.type == OperandType::fetched) {
    return "nullptr";
  }
  return operand.type != nullptr ? std::string("static_cast<") + operand.type + ">(0)" : "0";
}

/// A setter that answers refuses a buf that is not given.
std::string setting(const CLibrary& library, const Operand& traits, const COperand& operand) {
  const std::string set = "engine.set_" + engine_name(traits) + "(" + engine_value(traits, operand) + ")";
  const bool is_checked = library.setters_answer && traits.is_buf();
  return is_checked ? std::string(operand.parameter) + " != nullptr ? " + set + " : Status::invalid_value" : set;
}

std::string operation_of(const CLibrary& library, const CTask& task) {
  return std::string(library.operation_enum) + "::" + task.traits->name;
}

std::string configuring(const CLibrary& library, const CTask& task) {
  return library.operation_enum != nullptr ? "set_conf(" + operation_of(library, task) + ", "
                                           : std::string("set_") + task.traits->name + "_conf(";
}

/// C's name of the parameter that the engine calls so; nothing when the task has none.
const COperand* find_operand(const CTask& task, std::string_view name) {
  for (const COperand& operand : task.operands) {
    if (engine_name(traits_of(task, operand)) == name) {
      return &operand;
    }
  }
  return nullptr;
}

/// An operand of allocate(), which a kind of task may lack.
std::string number_of(const CTask& task, std::string_view name) {
  const COperand* const operand = find_operand(task, name);
  return operand != nullptr ? operand->parameter : "0";
}

/// The call that takes a task, with its operands in the engine's order.
std::string taking(const CLibrary& library, const CTask& task) {
  if (library.operation_enum != nullptr) {
    return "allocate(" + operation_of(library, task) + ", " + number_of(task, "value") + ", " + number_of(task, "mask");
  }
  std::string call = std::string(task.traits->name) + "(";
  for (const Operand& traits : task.traits->operands) {
    const COperand* const operand = find_operand(task, engine_name(traits));
    call += (call.back() == '(' ? "" : ", ") + engine_value(traits, *operand);
  }
  return call;
}

/// Throws std::out_of_range unless C has each operand of the traits.
void require_all_operands(const CTask& task) {
  for (const Operand& traits : task.traits->operands) {
    if (find_operand(task, engine_name(traits)) == nullptr) {
      throw std::out_of_range(std::string(task.traits->name) + ": C has no name for " + traits.name);
    }
  }
}

std::string define(const CLibrary& library, const CTask& task) {
  require_all_operands(task);
  Words words = words_of(library, task);
  const COperand* const fetched = find_operand(task, "result_address");
  words.emplace_back("taking", taking(library, task));
  words.emplace_back("fetched", fetched != nullptr ? fetched->parameter : "");
  words.emplace_back("configure", configuring(library, task));
  words.emplace_back("counted", library.counts_by_logarithm ? "count_of(log_num_tasks)" : "num_tasks");
  words.emplace_back("take", expand(fetched != nullptr ? fetching_take_pattern : take_pattern, words));
  if (library.operation_enum == nullptr) {
    return expand(task_pattern, words);
  }
  words.emplace_back("context", library.context);
  words.emplace_back("operation", operation_of(library, task));
  return expand(support_pattern, words) + expand(task_pattern, words);
}

std::string define(const CLibrary& library, const CTask& task, const COperand& operand) {
  const Operand& traits = traits_of(task, operand);
  Words words = words_of(library, task, operand);
  words.emplace_back("set_operand", library.setters_answer ? "return set_operand(" : "static_cast<void>(set_operand(");
  words.emplace_back("end", library.setters_answer ? ");" : "));");
  words.emplace_back("set", setting(library, traits, operand));
  words.emplace_back("got", c_value(traits, operand));
  words.emplace_back("nothing", nothing_of(traits, operand));
  return expand(setter_pattern, words) + expand(getter_pattern, words);
}

}  // namespace

std::string definitions_of(const CLibrary& library) {
  std::string traits;
  std::string functions;
  for (const CTask& task : library.tasks) {
    Words words = words_of(library, task);
    words.emplace_back("engine_task", task.engine_task);
    traits += expand(traits_pattern, words);
    functions += define(library, task);
    for (const COperand& operand : task.operands) {
      functions += define(library, task, operand);
    }
  }
  return expand(file_pattern, {{"library", library.name}, {"traits", traits}, {"functions", functions}});
}

}  // namespace pydoca::capi
