#include "task_text.hpp"

#include <stdexcept>

namespace pydoca::capi {

const Operand& traits_of(const CTask& task, const COperand& operand) {
  const std::size_t place = task.traits->find(std::string_view(operand.operand));
  if (place == TaskTraits::none) {
    throw std::out_of_range(std::string(task.traits->name) + " has no operand " + operand.operand);
  }
  return task.traits->operands[place];
}

namespace {

std::string type_of(const Operand& traits, const COperand& operand, bool is_const) {
  switch (traits.type) {
    case OperandType::source:
    case OperandType::target:
    case OperandType::remote:
      return is_const ? "const struct doca_buf*" : "struct doca_buf*";
    case OperandType::u32:
      return operand.type != nullptr ? operand.type : "uint32_t";
    case OperandType::u64:
      return "uint64_t";
    case OperandType::fetched:
      return "uint64_t*";
    case OperandType::enumerator:
      return operand.type;
    case OperandType::event:
      return is_const ? "const struct doca_sync_event_remote_net*" : "struct doca_sync_event_remote_net*";
  }
  return {};
}

}  // namespace

std::string parameter_type(const Operand& traits, const COperand& operand) {
  return type_of(traits, operand, operand.constness == Const::both || operand.constness == Const::parameter);
}

std::string getter_type(const Operand& traits, const COperand& operand) {
  return type_of(traits, operand, operand.constness == Const::both || operand.constness == Const::getter);
}

std::string operand_parameters(const CTask& task) {
  std::string parameters = task.has_connection ? "const struct doca_rdma_connection* rdma_connection" : "";
  for (const COperand& operand : task.operands) {
    parameters += parameters.empty() ? "" : ", ";
    parameters += parameter_type(traits_of(task, operand), operand) + " " + operand.parameter;
  }
  return parameters;
}

Words words_of(const CLibrary& library, const CTask& task) {
  const std::string name = library.name;
  const bool logarithm = library.counts_by_logarithm;
  return {{"library", "doca_" + name},
          {"handle", library.parameter},
          {"kind", task.traits->name},
          {"task", "doca_" + name + "_task_" + task.traits->name},
          {"cast", library.cast},
          {"allocation", library.taking},
          {"stability", library.stability},
          {"operands", operand_parameters(task)},
          {"count_type", logarithm ? "uint8_t" : "uint32_t"},
          {"count", logarithm ? "log_num_tasks" : "num_tasks"}};
}

Words words_of(const CLibrary& library, const CTask& task, const COperand& operand) {
  const Operand& traits = traits_of(task, operand);
  Words words = words_of(library, task);
  words.insert(words.end(), {{"operand", operand.name},
                             {"parameter", operand.parameter},
                             {"parameter_type", parameter_type(traits, operand)},
                             {"getter_type", getter_type(traits, operand)},
                             {"answer", library.setters_answer ? "doca_error_t" : "void"}});
  return words;
}

Words words_of(const CLibrary& library, const CTask& task, const CResult& result) {
  Words words = words_of(library, task);
  words.insert(words.end(), {{"name", result.name}, {"type", result.type}, {"does", result.does}});
  return words;
}

}  // namespace pydoca::capi
