#include "backend/conformance.hpp"

#include <pydoca/device.hpp>

#include "backend/rdma_conformance.hpp"

namespace pydoca::conformance {

Subject simulated(const char* name, const char* device, Side side) {
  return {name, [] { return std::string(); }, [device, side] { return find_device(device, side); }};
}

auto subjects() { return testing::Values(simulated("Host", "pf0", Side::host), simulated("Dpu", "p0", Side::dpu)); }

INSTANTIATE_TEST_SUITE_P(Sim, Conformance, subjects(), name_of);
INSTANTIATE_TEST_SUITE_P(Sim, DmaConformance, subjects(), name_of);
INSTANTIATE_TEST_SUITE_P(Sim, SyncEventConformance, subjects(), name_of);
INSTANTIATE_TEST_SUITE_P(Sim, RdmaConformance, subjects(), name_of);

}  // namespace pydoca::conformance
