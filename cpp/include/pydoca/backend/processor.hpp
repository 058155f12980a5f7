#pragma once

#include <functional>

namespace pydoca::backend {

/// The threads of a processor on a device, such as the DPA. Any thread may call them.
class Processor {
 public:
  virtual ~Processor() = default;

  /// Runs work, which does not throw, on a thread of the processor. Throws operating_system when there is none.
  virtual void start(std::function<void()> work) = 0;
};

}  // namespace pydoca::backend
