#pragma once

#include <atomic>

namespace pydoca::detail {

/// An atomic of a protocol between threads or processes. The models of the protocols (tests/cpp/model) compile the same
/// sources with another detail/atomic.hpp, whose operations a scheduler orders.
template <class T>
using Atomic = std::atomic<T>;

}  // namespace pydoca::detail
