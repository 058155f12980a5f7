/// What the environment asks for, in processes that have not looked at a device before.
#include <pydoca/device.hpp>
#include <pydoca/device_properties.hpp>
#include <pydoca/faults.hpp>
#include <pydoca/log.hpp>
#include <pydoca/sim.hpp>

#include "rig/expect_error.hpp"
#include "rig/temporary_directory.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <iostream>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

namespace pydoca {
namespace {

class Environment : public testing::Test {
 protected:
  std::string file(const std::string& name, const std::string& text) const {
    std::string path = directory_.path() / name;
    std::ofstream(path) << text;
    return path;
  }

  /// Runs the program in a child of this process, which never looks at devices itself.
  static void in_child(const std::function<void()>& program) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::setenv("PYDOCA_BACKEND", "sim", 1);
      program();
      std::cerr.flush();
      ::_exit(testing::Test::HasFailure() ? 1 : 0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }

 private:
  const TemporaryDirectory directory_;
};

TEST_F(Environment, ATopologyComesIntoForceAtTheFirstLook) {
  const std::string path = file("machine.toml", "[[card]]\ncount = 2\n[timing.dma]\nlatency = \"1us\"\n");
  const std::string timing = file("timing.toml", "[timing.dma]\nlatency = \"7us\"\n");
  in_child([&] {
    ::setenv("PYDOCA_TOPOLOGY", path.c_str(), 1);
    ::setenv("PYDOCA_PROFILE", "bluefield2", 1);
    EXPECT_EQ(find_device("card1-p0").properties().profile, "bluefield3");
    EXPECT_EQ(sim::timing_of("card1-p0").operations.at("dma").latency, std::chrono::microseconds(1));
    EXPECT_EQ(text_of(*sim::loaded_machine()), "{'card': [{'count': 2}], 'timing': {'dma': {'latency': '1us'}}}");
  });
  in_child([&] {
    ::setenv("PYDOCA_TOPOLOGY", path.c_str(), 1);
    ::setenv("PYDOCA_TIMING", timing.c_str(), 1);
    EXPECT_EQ(sim::config().timing.operations.at("dma").latency, std::chrono::microseconds(7));
    EXPECT_EQ(devices().size(), 8U);
  });
}

TEST_F(Environment, AProfileNeedsNoFile) {
  in_child([] {
    ::setenv("PYDOCA_PROFILE", "bluefield2", 1);
    EXPECT_EQ(devices().size(), 9U);
    EXPECT_EQ(find_device("p0").properties().profile, "bluefield2");
  });
  in_child([] {
    ::setenv("PYDOCA_PROFILE", "bf9", 1);
    EXPECT_EQ(thrown_by([] { devices(); }), Status::invalid_value);
    EXPECT_THAT(reason_of([] { devices(); }),
                testing::StartsWith("the environment's PYDOCA_PROFILE: \"bf9\" is not a profile; there are: "));
  });
}

TEST_F(Environment, WhatTheProgramHasLoadedWins) {
  in_child([] {
    ::setenv("PYDOCA_TOPOLOGY", "/absent.toml", 1);
    EXPECT_EQ(sim::loaded_machine(), std::nullopt);
    EXPECT_THAT(reason_of([] { devices(); }),
                "the environment's PYDOCA_TOPOLOGY: /absent.toml: No such file or directory");
    EXPECT_EQ(thrown_by([] { devices(); }), Status::invalid_value);
    sim::load_topology(parse_toml("profile = \"bluefield2\""));
    EXPECT_EQ(devices().size(), 9U);
  });
  in_child([] {
    ::setenv("PYDOCA_TIMING", "/absent.toml", 1);
    EXPECT_THAT(reason_of([] { sim::config(); }), testing::HasSubstr("PYDOCA_TIMING: /absent.toml: No such file"));
  });
}

TEST_F(Environment, AFaultPlanIsInForceFromTheFirstLook) {
  const std::string path = file("plan.toml", "[[rule]]\naction = \"fail\"\nopcode = \"dma.memcpy\"\n");
  in_child([&] {
    ::setenv("PYDOCA_FAULTS", path.c_str(), 1);
    EXPECT_EQ(FaultPlan::in_force(), nullptr);
    static_cast<void>(find_device("p0"));
    ASSERT_NE(FaultPlan::in_force(), nullptr);
    FaultPlan::in_force()->remove();
    static_cast<void>(devices());
    EXPECT_EQ(FaultPlan::in_force(), nullptr) << "it is read once";
  });
  in_child([&] {
    ::setenv("PYDOCA_FAULTS", path.c_str(), 1);
    const auto ring = std::make_shared<log::Ring>(8);
    const auto sink = log::Sink::ring(log::Family::engine, ring);
    const auto own = FaultPlan::create({});
    own->install();
    static_cast<void>(devices());
    EXPECT_EQ(FaultPlan::in_force(), own);
    log::Record record;
    ASSERT_TRUE(ring->try_pop(record));
    EXPECT_EQ(record.text, "PYDOCA_FAULTS=" + path + " is not used: a plan is in force");
    sink->close();
  });
  in_child([&] {
    ::setenv("PYDOCA_FAULTS", "/absent.toml", 1);
    EXPECT_THAT(reason_of([] { devices(); }), testing::HasSubstr("PYDOCA_FAULTS: /absent.toml: No such file"));
    ::unsetenv("PYDOCA_FAULTS");
    EXPECT_EQ(devices().size(), 9U);
  });
}

/// What a new program prints: the levels are those of its beginning.
std::string limits_with(const std::string& lower, const std::string& sdk) {
  const std::string command = "PYDOCA_LOG_LEVEL='" + lower + "' PYDOCA_SDK_LOG_LEVEL='" + sdk +
                              "' /proc/$PPID/exe --gtest_filter='*PrintsItsLimits' --gtest_also_run_disabled_tests";
  FILE* const output = ::popen(command.c_str(), "r");  // NOLINT(bugprone-command-processor): of constants
  std::string text;
  for (int character = ::getc(output); character != EOF; character = ::getc(output)) {
    text += static_cast<char>(character);
  }
  ::pclose(output);
  return text;
}

TEST(LogLevels, DISABLED_PrintsItsLimits) {
  const auto open = [] { log::Sink::ring(log::Family::engine, std::make_shared<log::Ring>(1))->close(); };
  std::cout << static_cast<int>(log::global_lower_limit()) << ' ' << static_cast<int>(log::global_sdk_limit()) << ", "
            << reason_of(open) << ", " << reason_of(open) << '\n';
}

TEST(LogLevels, AreThoseOfTheEnvironment) {
  EXPECT_THAT(limits_with("trace", " 30 "), testing::HasSubstr("70 30, nothing was thrown"));
  EXPECT_THAT(limits_with("critical", ""), testing::HasSubstr("20 50, nothing was thrown"));
  EXPECT_THAT(
      limits_with("", "loud"),
      testing::HasSubstr("50 50, the environment's PYDOCA_SDK_LOG_LEVEL: log level 'loud' does not exist; use one "
                         "of 10 (DISABLE), 20 (CRIT), 30 (ERROR), 40 (WARNING), 50 (INFO), 60 (DEBUG), 70 "
                         "(TRACE), nothing was thrown"));
}

}  // namespace
}  // namespace pydoca
