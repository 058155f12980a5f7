#pragma once

#include "pydoca/device.hpp"
#include "pydoca/memory.hpp"
#include "pydoca/mmap.hpp"

#include "crash/link.hpp"
#include "detail/thread/crash_point.hpp"
#include "rig/process/process_rig.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>

namespace pydoca::crash {

/// Two processes, one of which is killed. The survivor meets the doomed process first, then one that lives.
struct Scenario {
  std::function<void(const Link& survivor)> victim;
  std::function<void(const Link& doomed, const Link& successor)> survivor;
};

/// The victim is killed at its first crash point, then at its second, until it survives. Each time the survivor must
/// end its business with it, do it again with a successor, and be left without a descriptor more than before. The
/// process that runs this has no threads, so it may fork.
class CrashSweep : public testing::Test {
 protected:
  CrashSweep() { sim::set_fabric("crash-" + std::to_string(::getpid())); }

  void sweep(const Scenario& scenario) {
    std::uint64_t point = 1;
    while (!survives(scenario, point) && !HasFailure()) {
      ++point;
    }
    RecordProperty("points", std::to_string(point - 1));
    std::printf("%llu crash points\n", static_cast<unsigned long long>(point - 1));
    EXPECT_GT(point, 1U) << "the victim passed no crash point, so nothing was tested";
  }

 private:
  using End = Link::End;

  /// Whether the victim did not come to that point.
  static bool survives(const Scenario& scenario, std::uint64_t point) {
    Link doomed;
    Link successor;
    ChildProcess survivor([&] {
      doomed.keep(End::survivor);
      successor.keep(End::survivor);
      return code_of([&] { run_survivor(scenario, doomed, successor); });
    });
    const int end = run_victim(scenario, doomed, successor, point);
    const int next_end = run_victim(scenario, successor, doomed, 0);
    EXPECT_EQ(next_end, 0) << "the successor of the process that was killed at point " << point;
    EXPECT_EQ(survivor.wait(), 0) << "the survivor of the process that was killed at point " << point;
    EXPECT_TRUE(end == 0 || end == -1) << "the victim at point " << point << " failed by itself";
    return end == 0;
  }

  /// The victim's exit code; -1: it was killed.
  static int run_victim(const Scenario& scenario, Link& link, Link& other, std::uint64_t point) {
    ChildProcess victim([&] {
      other.close();
      link.keep(End::victim);
      detail::crash_at(point);
      return code_of([&] { scenario.victim(link); });
    });
    link.close();
    return victim.wait();
  }

  static void run_survivor(const Scenario& scenario, const Link& doomed, const Link& successor) {
    start_service();
    const std::size_t before = count_descriptors();
    scenario.survivor(doomed, successor);
    // The service's thread closes a connection a moment after its peer has.
    const auto end = std::chrono::steady_clock::now() + patience;
    while (count_descriptors() > before && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_LE(count_descriptors(), before) << "descriptors leaked";
  }
  /// The first export starts the service of a process, which stays.
  static void start_service() {
    const auto device = Device::open(find_device("pf0"));
    const auto memory = Memory::allocate(4096);
    const auto mmap = Mmap::create();
    mmap->add_device(device);
    mmap->set_memrange(memory->data(), memory->size());
    mmap->set_permissions(Access::pci_read_only);
    mmap->start();
    static_cast<void>(mmap->export_pci(*device));
  }

  static int code_of(const std::function<void()>& body) {
    body();
    return HasFailure() ? 1 : 0;
  }
};

}  // namespace pydoca::crash
