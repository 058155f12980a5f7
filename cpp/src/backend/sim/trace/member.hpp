#pragma once

#include "backend/sim/fabric/service.hpp"

#include <memory>
#include <string>

namespace pydoca::sim {

/// This process as one of those in a fabric that take part in traces. Devices that are in use share it.
class Member {
 public:
  /// Null when this process cannot take part; the log says why.
  static std::shared_ptr<Member> of(const std::string& fabric) noexcept;
  /// Throws as listening in the fabric's directory does.
  explicit Member(const std::string& fabric);
  /// Tracers that have asked still get what this process records.
  ~Member();
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;

 private:
  void call_tracers(const std::string& fabric);

  Service& service_ = Service::instance();
  Service::Id listener_ = 0;
};

}  // namespace pydoca::sim
