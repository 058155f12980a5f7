#pragma once

#include "pydoca/status.hpp"

namespace pydoca::backend {

/// What the process that exported something answers to an import, for a caller that must not wait for it. One thread at
/// a time.
class ImportAnswer {
 public:
  virtual ~ImportAnswer() = default;

  /// Takes the steps that are possible now. success: the answer is there. again: more are possible once fd() is
  /// readable. Throws as Device::import_memory() does.
  virtual Status advance() = 0;
  /// -1: no event tells when more is possible; a millisecond later, advance() finds out.
  virtual int fd() const noexcept = 0;
  /// Throws time_out, which names the process that does not answer.
  [[noreturn]] virtual void give_up() const = 0;
};

}  // namespace pydoca::backend
