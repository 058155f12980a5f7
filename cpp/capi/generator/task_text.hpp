#pragma once

#include "c_task.hpp"
#include "words.hpp"

#include <string>

/// What declarations and definitions say alike.
namespace pydoca::capi {

/// The traits of an operand. Throws std::out_of_range when the task has none of that name.
const Operand& traits_of(const CTask& task, const COperand& operand);

std::string parameter_type(const Operand& traits, const COperand& operand);
std::string getter_type(const Operand& traits, const COperand& operand);
/// "const struct doca_buf* src, struct doca_buf* dst"
std::string operand_parameters(const CTask& task);

/// @library@, @handle@, @kind@ (memcpy), @task@ (doca_dma_task_memcpy), @cast@, @allocation@, @stability@,
/// @count_type@, @count@.
Words words_of(const CLibrary& library, const CTask& task);
/// The same, with @operand@, @parameter@, @parameter_type@, @getter_type@ and @answer@, which is what a setter returns.
Words words_of(const CLibrary& library, const CTask& task, const COperand& operand);
/// The same, with @name@, @type@ and @does@.
Words words_of(const CLibrary& library, const CTask& task, const CResult& result);

}  // namespace pydoca::capi
