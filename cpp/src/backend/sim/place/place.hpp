#pragma once

#include "pydoca/device_properties.hpp"

#include "backend/sim/place/topology.hpp"

#include <atomic>
#include <cstddef>
#include <string>
#include <utility>

namespace pydoca::sim {

/// An open function of the simulated card, as its memory, counters and queues see it.
class Place {
 public:
  Place(PresentFunction present, std::string fabric, std::size_t ordinal)
      : present_(std::move(present)), fabric_(std::move(fabric)), ordinal_(ordinal) {}

  const Function& function() const noexcept { return present_.function; }
  const DeviceProperties& properties() const noexcept { return present_.function.properties; }
  const Capabilities& capabilities() const noexcept { return properties().capabilities; }
  /// The DPU function through which the other side sees this one; empty on the DPU.
  const std::string& parent() const noexcept { return present_.function.parent; }
  const std::string& fabric() const noexcept { return fabric_; }
  std::size_t ordinal() const noexcept { return ordinal_; }
  bool removed() const noexcept { return removal().happened().load(std::memory_order_relaxed); }
  bool replaced() const noexcept { return is_replaced(present_); }
  Removal& removal() const noexcept { return *present_.removal; }

 private:
  const PresentFunction present_;
  const std::string fabric_;
  const std::size_t ordinal_;
};

}  // namespace pydoca::sim
