#include "backend/conformance.hpp"

#include "backend/compress_conformance.hpp"
#include "backend/rdma_conformance.hpp"
#include "backend/sha_conformance.hpp"
#include "backend/verbs/verbs_subject.hpp"

namespace pydoca::conformance {

auto subjects() { return testing::Values(Subject{"Verbs", verbs::why_absent, verbs::find_subject}); }

INSTANTIATE_TEST_SUITE_P(Verbs, Conformance, subjects(), name_of);
INSTANTIATE_TEST_SUITE_P(Verbs, DmaConformance, subjects(), name_of);
INSTANTIATE_TEST_SUITE_P(Verbs, SyncEventConformance, subjects(), name_of);
INSTANTIATE_TEST_SUITE_P(Verbs, RdmaConformance, subjects(), name_of);
INSTANTIATE_TEST_SUITE_P(Verbs, CompressConformance, subjects(), name_of);
INSTANTIATE_TEST_SUITE_P(Verbs, ShaConformance, subjects(), name_of);

}  // namespace pydoca::conformance
