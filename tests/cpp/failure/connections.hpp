#pragma once

namespace pydoca::failure {

// Scenarios with two ends.
void sync_event_scenario();
void comch_scenario();
void rdma_scenario();
void rdma_by_address_scenario();

}  // namespace pydoca::failure
