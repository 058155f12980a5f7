#include "pydoca/cpus.hpp"

#include "rig/pinned.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <thread>
#include <vector>

namespace pydoca {
namespace {

TEST(Cpus, OneIsWhatTheThreadMayRunOn) {
  const std::vector<unsigned> usable = usable_cpus();
  EXPECT_EQ(has_one_cpu(), usable.size() == 1);
  run_pinned(usable.front(), [] { EXPECT_TRUE(has_one_cpu()); });
  EXPECT_EQ(has_one_cpu(), usable.size() == 1);
}

TEST(Cpus, AThreadKnowsItsOwn) {
  for (const unsigned cpu : usable_cpus()) {
    run_pinned(cpu, [cpu] { EXPECT_EQ(own_cpus(), Cpus::only(cpu)); });
  }
  if (usable_cpus().size() > 1) {
    std::thread([] { EXPECT_EQ(own_cpus(), Cpus::several()); }).join();
  }
}

TEST(Cpus, AThreadNoticesThatItsOwnHaveChanged) {
  const std::vector<unsigned> usable = usable_cpus();
  if (usable.size() < 2) {
    GTEST_SKIP() << "this process may run on one CPU only";
  }
  const auto known_after_a_while = [] {
    for (int call = 0; call < 16; ++call) {
      static_cast<void>(own_cpus());
    }
    return own_cpus();
  };
  run_pinned(usable[0], [&] {
    EXPECT_EQ(own_cpus(), Cpus::only(usable[0]));
    pin_to({usable[1]});
    EXPECT_EQ(ask_own_cpus(), Cpus::only(usable[1]));
    pin_to({usable[0]});
    EXPECT_EQ(known_after_a_while(), Cpus::only(usable[0]));
    pin_to(usable);
    EXPECT_EQ(known_after_a_while(), Cpus::several());
  });
}

TEST(Cpus, OthersRunBesideUnlessTheyAreOnTheSameOne) {
  const Cpus unknown;
  const Cpus first = Cpus::only(0);
  const Cpus second = Cpus::only(1);
  const Cpus several = Cpus::several();
  EXPECT_FALSE(first.may_run_beside(first));
  EXPECT_TRUE(first.may_run_beside(second));
  EXPECT_TRUE(first.may_run_beside(several)) << "the scheduler moves the thread that may be moved";
  EXPECT_TRUE(several.may_run_beside(first));
  EXPECT_TRUE(several.may_run_beside(several));
  for (const Cpus here : {first, several, unknown}) {
    EXPECT_FALSE(unknown.may_run_beside(here));
  }
}

TEST(Cpus, AnyWordIsTaken) {
  for (const Cpus cpus : {Cpus(), Cpus::only(0), Cpus::only(1023), Cpus::several()}) {
    EXPECT_EQ(Cpus::from_word(cpus.word()), cpus);
  }
  EXPECT_EQ(Cpus::only(70'000), Cpus::several()) << "a number that no word has";
  for (std::uint32_t word = 1; word <= 0xffff; ++word) {
    EXPECT_TRUE(Cpus::from_word(static_cast<std::uint16_t>(word)).may_run_beside(Cpus::several()));
  }
}

}  // namespace
}  // namespace pydoca
