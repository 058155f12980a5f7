#include "backend/conformance.hpp"

#include <pydoca/device.hpp>
#include <pydoca/sim.hpp>

#include "backend/compress_conformance.hpp"
#include "backend/rdma_conformance.hpp"
#include "backend/sha_conformance.hpp"

namespace pydoca::conformance {

Subject simulated(const char* name, const char* device, Side side) {
  return {name, [] { return std::string(); }, [device, side] { return find_device(device, side); }};
}

/// The subject of the card that has engines which the newer one has not.
Subject simulated_bluefield2(const char* name, const char* device, Side side) {
  return {name, [] { return std::string(); },
          [device, side] {
            sim::set_topology(sim::default_topology("bluefield2"));
            return find_device(device, side);
          }};
}

/// With a model of everything's time, in which completions also come in another order.
Subject modelled(Subject subject) {
  const auto find = subject.find;
  subject.name += "Modelled";
  subject.find = [find] {
    sim::Config config{.seed = 1, .timing = sim::timing_preset("bluefield2"), .profiles = {}, .devices = {}};
    config.timing.operations["dma"].reorder_window = 4;
    config.timing.operations["sha"].reorder_window = 4;
    config.timing.operations["compress"].reorder_window = 4;
    const DeviceInfo info = find();
    sim::set_config(config);
    return info;
  };
  return subject;
}

auto older_subjects() {
  return testing::Values(simulated_bluefield2("Host", "pf0", Side::host), simulated_bluefield2("Dpu", "p0", Side::dpu),
                         modelled(simulated_bluefield2("Dpu", "p0", Side::dpu)));
}

auto subjects() {
  return testing::Values(simulated("Host", "pf0", Side::host), simulated("Dpu", "p0", Side::dpu),
                         modelled(simulated("Dpu", "p0", Side::dpu)));
}

INSTANTIATE_TEST_SUITE_P(Sim, Conformance, subjects(), name_of);
INSTANTIATE_TEST_SUITE_P(Sim, DmaConformance, subjects(), name_of);
INSTANTIATE_TEST_SUITE_P(Sim, SyncEventConformance, subjects(), name_of);
INSTANTIATE_TEST_SUITE_P(Sim, RdmaConformance, subjects(), name_of);
INSTANTIATE_TEST_SUITE_P(Sim, CompressConformance, subjects(), name_of);
INSTANTIATE_TEST_SUITE_P(Sim, ShaConformance, older_subjects(), name_of);

}  // namespace pydoca::conformance
