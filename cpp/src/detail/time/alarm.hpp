#pragma once

#include <cstdint>

namespace pydoca::detail {

class VirtualClock;

/// What the virtual clock calls at a moment. It is the clock's between add() and remove().
class Alarm {
 public:
  virtual ~Alarm() = default;
  Alarm(const Alarm&) = delete;
  Alarm& operator=(const Alarm&) = delete;

 protected:
  Alarm() = default;

 private:
  friend class VirtualClock;
  /// The moment has come. The caller has the clock's lock.
  virtual void fire() noexcept = 0;

  const VirtualClock* clock_ = nullptr;  ///< the clock that has it; another one in a forked child
  std::uint64_t due_ = UINT64_MAX;       ///< never: it is not set
  Alarm* next_ = nullptr;
  Alarm* prev_ = nullptr;
};

}  // namespace pydoca::detail
