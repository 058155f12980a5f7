#include "pydoca/interrupt.hpp"
#include "pydoca/sim.hpp"

#include "rig/process/peer_process.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

namespace pydoca {
namespace {

/// What a test has changed of the process does not reach the next one, so that all tests of an executable can run in
/// one process. A peer process keeps what its test gave it.
class FreshStart : public testing::EmptyTestEventListener {
  void OnTestStart(const testing::TestInfo& /*test*/) override {
    if (peer_socket() < 0) {
      ::unsetenv("PYDOCA_SIDE");
      ::unsetenv("PYDOCA_FABRIC");
      ::setenv("PYDOCA_BACKEND", "sim", 1);
      ::setenv("XDG_RUNTIME_DIR", PYDOCA_TEST_DIRECTORY, 1);
      sim::set_topology(sim::default_topology());
      sim::set_config({});
      sim::set_fabric("default");
      set_interrupt_check(nullptr);
    }
  }
};

// NOLINTNEXTLINE(bugprone-throwing-static-initialization): without memory no test could run either
[[maybe_unused]] const bool is_installed = [] {
  testing::UnitTest::GetInstance()->listeners().Append(new FreshStart);
  return true;
}();

}  // namespace
}  // namespace pydoca
