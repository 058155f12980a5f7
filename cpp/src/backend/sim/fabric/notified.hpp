#pragma once

#include <cstdint>

namespace pydoca::sim {

/// What other threads of this process tell of things by their numbers.
class Notified {
 public:
  virtual void notify(std::uint32_t number) noexcept = 0;

 protected:
  ~Notified() = default;
};

}  // namespace pydoca::sim
