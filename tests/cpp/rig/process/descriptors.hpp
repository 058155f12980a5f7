#pragma once

#include "backend/sim/fabric/service.hpp"

#include <cstddef>
#include <filesystem>
#include <iterator>

namespace pydoca {

/// Open descriptors of this process, once its service has closed the connections whose other ends are closed.
inline std::size_t count_descriptors() {
  sim::Service::settle();
  const std::filesystem::directory_iterator entries("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(entries), end(entries))) - 1;  // less that of the iterator
}

}  // namespace pydoca
