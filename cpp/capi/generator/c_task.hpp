#pragma once

#include "pydoca/task_traits.hpp"

#include <cstdint>
#include <span>
#include <string_view>

/// What C's task functions have beyond the traits: a row per task, made once by hand.
namespace pydoca::capi {

/// Where C's functions for a buf or an event have a pointer to const.
enum class Const : std::uint8_t {
  none,
  getter,     ///< what the getter returns
  parameter,  ///< the parameters
  both
};

/// An operand of a task as C names it.
struct COperand {
  const char* operand;                ///< its name in the traits
  const char* name = operand;         ///< that of its setter and getter
  const char* parameter = name;       ///< that of the parameter
  Const constness = Const::none;      ///< const of the pointer of a buf or an event
  const char* engine = nullptr;       ///< the engine's name of it in methods, if not that of the parameter
  const char* type = nullptr;         ///< an enumerator's: "enum doca_sha_algorithm"
  const char* engine_type = nullptr;  ///< the same in the engine: "ShaAlgorithm"
};

/// What a task tells after it has succeeded: doca_<library>_task_<task>_get_result_<name>.
struct CResult {
  const char* name;
  const char* type;    ///< "uint32_t"; a pointer is that of an object
  const char* engine;  ///< the engine's method
  const char* does;    ///< one line of the header
};

/// A kind of task: doca_<library>_task_<name>.
struct CTask {
  const TaskTraits* traits;
  const char* engine_task;             ///< the engine's class: "DmaMemcpyTask"
  std::span<const COperand> operands;  ///< ordered as the arguments of alloc_init
  std::span<const CResult> results = {};
  bool has_connection = false;  ///< an operand that the traits lack, the first one
};

/// A library whose task functions are generated.
struct CLibrary {
  const char* name;                        ///< "dma", of doca_dma
  const char* parameter = name;            ///< that for the library's object
  const char* folder = "library";          ///< that has the library's sources
  const char* stability;                   ///< DOCA_STABLE or DOCA_EXPERIMENTAL
  const char* taking = "alloc_init";       ///< the end of the name of the function that takes a task
  const char* cast = "as_task";            ///< the end of the name of the cast to struct doca_task
  const char* refuses_conf = "BAD_STATE";  ///< what set_conf answers unless the context is idle
  bool setters_answer = false;             ///< whether setters return an error
  bool counts_by_logarithm = false;        ///< whether set_conf takes the logarithm of the number of tasks
  const char* operation_enum = nullptr;    ///< the engine's numbers of the kinds, where its functions take one
  const char* supporting = nullptr;        ///< the engine's function that tells whether a device has a kind
  bool takes_by_number = false;            ///< whether the engine's allocate() makes all kinds
  std::span<const CTask> tasks;
};

/// Null for a name that is not a library's.
const CLibrary* find_library(std::string_view name) noexcept;

}  // namespace pydoca::capi
