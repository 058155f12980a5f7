#pragma once

#include <pydoca/device.hpp>
#include <pydoca/faults.hpp>
#include <pydoca/sim.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

namespace pydoca {

/// Installs one plan for a test, in a fabric of the test's own.
class FaultsTest : public testing::Test {
 protected:
  FaultsTest() { sim::set_fabric("test-" + std::to_string(::getpid())); }
  ~FaultsTest() override {
    if (plan != nullptr) {
      plan->remove();
    }
    sim::set_topology(sim::default_topology());
  }

  void inject(std::vector<FaultRule> rules, std::uint64_t seed = 1) {
    plan = FaultPlan::create(std::move(rules), seed);
    plan->install();
  }
  FaultReport report(std::size_t rule = 0) const { return plan->report().at(rule); }

  std::shared_ptr<FaultPlan> plan;
};

}  // namespace pydoca
