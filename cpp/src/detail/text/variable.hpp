#pragma once

#include "pydoca/status.hpp"

#include "detail/concat.hpp"

#include <cstdlib>

/// Variables of the environment that name what is to be loaded.
namespace pydoca::detail {

/// Null also for a variable that is empty.
inline const char* variable(const char* name) noexcept {
  const char* const value = std::getenv(name);
  return value == nullptr || *value == '\0' ? nullptr : value;
}

/// Calls load. What it throws becomes invalid_value, and begins with the variable's name; again stays again: a signal
/// wants the thread.
template <class Load>
auto load_variable(const char* name, Load load) {
  try {
    return load();
  } catch (const Error& error) {
    const Status status = error.status() == Status::again ? Status::again : Status::invalid_value;
    throw Error(status, concat("the environment's ", name, ": ", error.what()));
  }
}

}  // namespace pydoca::detail
