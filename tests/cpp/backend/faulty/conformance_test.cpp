#include "backend/conformance.hpp"

#include <pydoca/device.hpp>
#include <pydoca/faults.hpp>
#include <pydoca/sim.hpp>

#include "backend/compress_conformance.hpp"
#include "backend/rdma_conformance.hpp"
#include "backend/sha_conformance.hpp"

#include <chrono>

namespace pydoca::conformance {

/// A faulty device without faults: rules that concern every operation, and meet none.
DeviceInfo find_faulty(const char* profile, const char* device, Side side) {
  static const std::shared_ptr<FaultPlan> plan = [] {
    std::vector<FaultRule> rules;
    rules.push_back({.action = FaultAction::drop, .probability = 0});
    rules.push_back({.action = FaultAction::fail, .probability = 0});
    rules.push_back({.action = FaultAction::link_down, .probability = 0});
    rules.push_back({.action = FaultAction::delay, .probability = 0, .by = std::chrono::seconds(1)});
    return FaultPlan::create(rules);
  }();
  if (!plan->is_in_force()) {
    plan->install();
  }
  sim::set_topology(sim::default_topology(profile));
  return find_device(device, side);
}

Subject faulty(const char* name, const char* device, Side side, const char* profile = "bluefield3") {
  return {name, [] { return std::string(); }, [=] { return find_faulty(profile, device, side); }};
}

auto subjects() { return testing::Values(faulty("Host", "pf0", Side::host), faulty("Dpu", "p0", Side::dpu)); }
auto older_subjects() { return testing::Values(faulty("Dpu", "p0", Side::dpu, "bluefield2")); }

INSTANTIATE_TEST_SUITE_P(Faulty, Conformance, subjects(), name_of);
INSTANTIATE_TEST_SUITE_P(Faulty, DmaConformance, subjects(), name_of);
INSTANTIATE_TEST_SUITE_P(Faulty, SyncEventConformance, subjects(), name_of);
INSTANTIATE_TEST_SUITE_P(Faulty, RdmaConformance, subjects(), name_of);
INSTANTIATE_TEST_SUITE_P(Faulty, CompressConformance, subjects(), name_of);
INSTANTIATE_TEST_SUITE_P(Faulty, ShaConformance, older_subjects(), name_of);

}  // namespace pydoca::conformance
