#pragma once

#include <cstddef>
#include <string>
#include <tuple>

namespace pydoca {

/// The name of a test whose parameters are a state and a message, of which each has its name in a table.
template <class Cell, class States, class Messages>
std::string cell_name(const Cell& cell, const States& states, const Messages& messages) {
  const auto [state, message] = cell.param;
  return std::string(states.at(static_cast<std::size_t>(state))) + messages.at(static_cast<std::size_t>(message));
}

}  // namespace pydoca
