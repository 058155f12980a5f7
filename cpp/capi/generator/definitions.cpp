#include "definitions.hpp"

#include "task_text.hpp"

#include <stdexcept>

namespace pydoca::capi {

namespace {

constexpr std::string_view file_pattern = R"(// Made by cpp/capi/generator from the library's table of tasks.
#include "@folder@/@library@.hpp"

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

doca_error_t @task@_@allocation@(@library@* @handle@, @operands@, doca_data user_data, @task@** task) {
  if (!can_take(@handle@@part@, task@objects@)) [[unlikely]] {
    return refuse_to_take(std::source_location::current(), @handle@@part@, task@objects@);
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

constexpr std::string_view result_pattern = R"(
@type@ @task@_get_result_@name@(const @task@* task) {
  return task != nullptr ? @got@ : @nothing@;
}
)";

constexpr std::string_view connection_pattern = R"(
void @task@_set_rdma_connection(@task@* task, const doca_rdma_connection* rdma_connection) {
  static_cast<void>(set_operand(
      task, [&](auto& engine) noexcept { return engine.set_connection(engine_connection(rdma_connection)); }));
}

const doca_rdma_connection* @task@_get_rdma_connection(const @task@* task) {
  return task != nullptr ? as_c(engine_task(*task).connection()) : nullptr;
}
)";

constexpr std::string_view support_pattern = R"(
doca_error_t @library@_cap_task_@kind@_is_supported(const doca_devinfo* devinfo) {
  return answer_support(Call(), devinfo, [](const DeviceInfo& info) noexcept {
    return @supporting@(info, @operation@);
  });
}
)";

/// What the engine's methods call the operand.
std::string engine_name(const Operand& traits) {
  return traits.type == OperandType::fetched ? "result_address" : traits.parameter;
}
/// The end of the name of its setter.
std::string engine_name(const Operand& traits, const COperand& operand) {
  return operand.engine != nullptr ? operand.engine : engine_name(traits);
}

/// A parameter as the engine's method takes it.
std::string engine_value(const Operand& traits, const COperand& operand) {
  if (traits.is_buf()) {
    return std::string("buf_of(") + operand.parameter + ")";
  }
  if (traits.type == OperandType::event) {
    return std::string("engine_event(") + operand.parameter + ")";
  }
  if (traits.type == OperandType::enumerator) {
    return std::string("enumerator<") + operand.engine_type + ", " + std::to_string(traits.names.size()) + ">(" +
           operand.parameter + ")";
  }
  return operand.parameter;
}

bool is_pointer(const Operand& traits) { return traits.is_buf() || traits.type == OperandType::event; }

/// What the engine's getter gives, as C's returns it.
std::string c_value(const Operand& traits, const COperand& operand) {
  const std::string value = "engine_task(*task)." + engine_name(traits, operand) + "()";
  if (is_pointer(traits)) {
    return "as_c(" + value + ")";
  }
  return traits.type == OperandType::enumerator ? std::string("static_cast<") + operand.type + ">(" + value + ")"
                                                : value;
}

std::string nothing_of(const Operand& traits, const COperand& operand) {
  if (is_pointer(traits) || traits.type == OperandType::fetched) {
    return "nullptr";
  }
  return traits.type == OperandType::enumerator ? std::string("static_cast<") + operand.type + ">(0)" : "0";
}

/// A setter that answers refuses a buf that is not given.
std::string setting(const CLibrary& library, const Operand& traits, const COperand& operand) {
  const std::string set = "engine.set_" + engine_name(traits, operand) + "(" + engine_value(traits, operand) + ")";
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
  if (library.takes_by_number) {
    std::string call = "allocate(";
    return call.append(operation_of(library, task) + ", " + number_of(task, "value") + ", " + number_of(task, "mask"));
  }
  std::string call = std::string(task.traits->name) + (task.has_connection ? "(engine_of(*rdma_connection)" : "(");
  for (const Operand& traits : task.traits->operands) {
    const COperand* const operand = find_operand(task, engine_name(traits));
    call.append(call.back() == '(' ? "" : ", ").append(engine_value(traits, *operand));
  }
  return call;
}

/// The other objects among the parameters, which must be alive.
std::string objects_of(const CTask& task) {
  std::string objects;
  for (const COperand& operand : task.operands) {
    if (traits_of(task, operand).type == OperandType::event) {
      objects += std::string(", ") + operand.parameter;
    }
  }
  return objects;
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
  words.emplace_back("part", task.has_connection ? ", rdma_connection" : "");
  words.emplace_back("objects", objects_of(task));
  words.emplace_back("taking", taking(library, task));
  words.emplace_back("fetched", fetched != nullptr ? fetched->parameter : "");
  words.emplace_back("configure", configuring(library, task));
  words.emplace_back("counted", library.counts_by_logarithm ? "count_of(log_num_tasks)" : "num_tasks");
  words.emplace_back("take", expand(fetched != nullptr ? fetching_take_pattern : take_pattern, words));
  std::string text = expand(task_pattern, words) + (task.has_connection ? expand(connection_pattern, words) : "");
  if (library.supporting == nullptr) {
    return text;
  }
  words.emplace_back("supporting", library.supporting);
  words.emplace_back("operation", operation_of(library, task));
  return expand(support_pattern, words) + text;
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

std::string define(const CLibrary& library, const CTask& task, const CResult& result) {
  const std::string value = std::string("engine_task(*task).") + result.engine + "()";
  const bool is_object = std::string_view(result.type).ends_with('*');
  Words words = words_of(library, task, result);
  words.emplace_back(
      "got", is_object ? "as_c(" + value + ")" : std::string("static_cast<") + result.type + ">(" + value + ")");
  words.emplace_back("nothing", is_object ? "nullptr" : std::string("static_cast<") + result.type + ">(0)");
  return expand(result_pattern, words);
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
    for (const CResult& result : task.results) {
      functions += define(library, task, result);
    }
  }
  return expand(file_pattern,
                {{"folder", library.folder}, {"library", library.name}, {"traits", traits}, {"functions", functions}});
}

}  // namespace pydoca::capi
