#pragma once

#include <atomic>

namespace pydoca::detail {

/// An atomic of a protocol between threads or processes. The models of the protocols (tests/cpp/model) compile the same
/// sources with another header of this name, whose operations a search orders.
template <class T>
using Atomic = std::atomic<T>;

}  // namespace pydoca::detail
