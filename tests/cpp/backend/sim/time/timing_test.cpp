#include <pydoca/sim.hpp>

#include "rig/expect_error.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace pydoca::sim {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr const char* dma = "dma";

TEST(TimingTest, NothingIsModelledByDefault) {
  EXPECT_EQ(config(), Config{});
  EXPECT_EQ(timing_of("p0"), Timing{});
}

TEST(TimingTest, TheNarrowerTableWinsKeyByKey) {
  set_topology(default_topology("bluefield2"));
  Config config;
  config.timing.operations[dma] = {.latency = 1us, .bandwidth = 1e9, .rate = 5};
  config.profiles["bluefield2"].operations[dma] = {.latency = 2us, .rate = 6};
  config.devices["p0"].operations[dma] = {.rate = 7};
  set_config(config);
  EXPECT_EQ(timing_of("p0").operations.at(dma), (OperationTiming{.latency = 2us, .bandwidth = 1e9, .rate = 7}));
  EXPECT_EQ(timing_of("p1").operations.at(dma), (OperationTiming{.latency = 2us, .bandwidth = 1e9, .rate = 6}));
  set_topology(default_topology("bluefield3"));
  EXPECT_EQ(timing_of("p1").operations.at(dma), (OperationTiming{.latency = 1us, .bandwidth = 1e9, .rate = 5}));
}

TEST(TimingTest, APresetTakesThePlaceOfWiderTables) {
  Config config;
  config.timing.preset = "bluefield3";
  config.timing.operations[dma].latency = 7us;
  config.devices["p1"].preset = "ideal";
  set_config(config);
  Timing expected = timing_preset("bluefield3");
  expected.operations[dma].latency = 7us;
  EXPECT_EQ(timing_of("p0"), expected);
  EXPECT_EQ(timing_of("p1"), Timing{});
}

TEST(TimingTest, EveryPresetCanBeInForce) {
  for (const std::string_view name : timing_presets()) {
    Config config;
    config.timing.preset = name;
    set_config(config);
    EXPECT_EQ(timing_of("p0"), timing_preset(name));
    EXPECT_EQ(timing_of("p0") == Timing{}, name == "ideal");
  }
}

TEST(TimingTest, AFunctionThatDoesNotExistHasNoTiming) {
  EXPECT_EQ(thrown_by([] { timing_of("p9"); }), Status::not_found);
}

/// The message of the refusal of an operation's model.
std::string refusal_of(const OperationTiming& timing, const char* operation = dma) {
  Config config;
  config.timing.operations[operation] = timing;
  EXPECT_EQ(thrown_by([&] { set_config(config); }), Status::invalid_value);
  EXPECT_EQ(sim::config(), Config{});
  return reason_of([&] { set_config(config); });
}

TEST(TimingTest, ValuesThatMakeNoSenseAreNamed) {
  EXPECT_THAT(refusal_of({.latency = -1ns}), HasSubstr("dma: latency is -1ns; it"));
  EXPECT_THAT(refusal_of({.latency = 2h}), HasSubstr("0 to an hour"));
  EXPECT_THAT(refusal_of({.bandwidth = 0}), HasSubstr("dma: bandwidth must be 1 to 1e15"));
  EXPECT_THAT(refusal_of({.rate = -5}, "sha"), HasSubstr("sha: rate must be"));
  EXPECT_THAT(refusal_of({.jitter = Jitter{JitterDistribution::normal, 0ns}}), HasSubstr("normal but no spread"));
  EXPECT_THAT(refusal_of({.jitter = Jitter{JitterDistribution::none, 5ns}}), HasSubstr("leave out one"));
  EXPECT_THAT(refusal_of({.reorder_window = 0}), HasSubstr("reorder_window is 0"));
  EXPECT_THAT(refusal_of({.reorder_window = 5000}), HasSubstr("4096"));
  EXPECT_THAT(refusal_of({.queue_depth = 4, .reorder_window = 8}), HasSubstr("more than the queue_depth of 4"));
}

TEST(TimingTest, WhatDoesNotApplyToRdmaIsRefused) {
  constexpr const char* write = "rdma_write";
  EXPECT_THAT(refusal_of({.reorder_window = 2}, write), HasSubstr("rdma_write: reorder_window does not apply"));
  EXPECT_THAT(refusal_of({.queue_depth = 2}, write), HasSubstr("send_queue_size"));
  EXPECT_THAT(refusal_of({.executes_in_submit = true}, write), HasSubstr("executes_in_submit does not apply"));
}

TEST(TimingTest, NamesThatDoNotExistAreRefused) {
  const auto refusal = [](const Config& config) {
    EXPECT_EQ(thrown_by([&] { set_config(config); }), Status::invalid_value);
    return reason_of([&] { set_config(config); });
  };
  Config config;
  config.timing.operations["dmma"] = {};
  EXPECT_THAT(refusal(config), HasSubstr("dmma is not an operation; there are: dma, sha, cache, compress, rdma_write"));
  config = {};
  config.timing.preset = "bluefield9";
  EXPECT_THAT(refusal(config), HasSubstr("ideal, bluefield2, bluefield3"));
  config = {};
  config.profiles["bluefield9"] = {};
  EXPECT_THAT(refusal(config), HasSubstr("bluefield2, bluefield3"));
  config = {};
  config.devices["p9"] = {};
  EXPECT_THAT(refusal(config), HasSubstr("timing: device 'p9' does not exist; use one of: pf0, pf1"));
  config = {};
  config.timing.pcie_bandwidth = -1;
  EXPECT_THAT(refusal(config), HasSubstr("pcie: bandwidth"));
}

}  // namespace
}  // namespace pydoca::sim
