#pragma once

#include "pydoca/sim_timing.hpp"

#include "backend/sim/time/pace.hpp"
#include "backend/sim/time/timed_operation.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace pydoca::sim {

/// The model of one function, which all its openings in this process share while one configuration is in force.
class FunctionModel {
 public:
  /// timing: complete. link: null where no bandwidth of it is given.
  FunctionModel(const Timing& timing, std::uint64_t seed, std::string name, std::shared_ptr<Link> link);

  /// Null where the operation is not modelled.
  const Pace* pace(TimedOperation operation) const noexcept {
    const std::optional<Pace>& pace = paces_[static_cast<std::size_t>(operation)];
    return pace.has_value() ? &*pace : nullptr;
  }
  /// The operation is modelled.
  const Pace& own_pace(TimedOperation operation) const noexcept { return *paces_[static_cast<std::size_t>(operation)]; }
  Server& engine(TimedOperation operation) noexcept;
  Link* link() const noexcept { return link_.get(); }
  /// The seed of the next queue for that operation; another one each time.
  std::uint64_t next_seed(TimedOperation operation) noexcept;

 private:
  static constexpr std::size_t num_link_engines = 3;

  const std::uint64_t seed_;
  const std::string name_;
  const std::shared_ptr<Link> link_;
  std::array<std::optional<Pace>, max_timed_operations> paces_;
  std::array<Server, num_link_engines + max_data_engines> engines_;
  std::array<std::atomic<std::uint64_t>, max_timed_operations> queues_{};
};

}  // namespace pydoca::sim
