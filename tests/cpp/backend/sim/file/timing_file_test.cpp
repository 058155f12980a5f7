#include <pydoca/sim.hpp>

#include "rig/expect_error.hpp"
#include "rig/temporary_directory.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <clocale>
#include <fstream>
#include <string>
#include <utility>

namespace pydoca::sim {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

std::string refusal(const std::string& text) {
  const Table table = parse_toml(text);
  EXPECT_EQ(thrown_by([&] { load_config(table); }), Status::invalid_value) << text;
  EXPECT_EQ(config(), Config{});
  return reason_of([&] { load_config(table); });
}

/// The latency or the bandwidth of a configuration, as it is written back.
std::string written(const std::string& key, const Value& value) {
  Table dma;
  dma[key] = value;
  Table table;
  table["dma"] = dma;
  return text_of(table_of(read_config(table)));
}

TEST(TimingFileTest, AFileSaysHowLongOperationsTake) {
  const TemporaryDirectory directory;
  const std::string path = directory.path() / "timing.toml";
  std::ofstream(path)
      << "[timing]\nseed = 7\npreset = \"bluefield3\"\n[timing.dma]\nlatency = \"1.9us\"\n"
         "bandwidth = \"25GB/s\"\njitter = {distribution = \"exponential\", spread = \"50ns\"}\n"
         "[timing.profiles.bluefield3.sha]\nrate = \"10M/s\"\n[timing.devices.p1.dma]\nlatency = 4e-6\n";
  load_config(path);
  EXPECT_EQ(config().seed, 7U);
  EXPECT_EQ(timing_of("p0").operations.at("dma").latency, 1900ns);
  EXPECT_EQ(timing_of("p0").operations.at("dma").bandwidth, 25e9);
  EXPECT_EQ(timing_of("p0").operations.at("sha").rate, 10e6);
  EXPECT_EQ(timing_of("p1").operations.at("dma").latency, 4us);
  EXPECT_EQ(read_config(table_of(config())), config());
  std::ofstream(path) << "function = 1\n";
  EXPECT_THAT(reason_of([&] { load_config(path); }), HasSubstr("timing.toml: timing: table 'function'"));
}

TEST(TimingFileTest, QuantitiesHaveUnits) {
  for (const auto& [given, reads] : {std::pair<Value, std::string>("1.9us", "1.9us"),
                                     {"1900 ns", "1.9us"},
                                     {"2\u00b5s", "2us"},
                                     {0, "0ns"},
                                     {1e-6, "1us"},
                                     {"1 h", "3600s"},
                                     {"+.5e3ns", "500ns"},
                                     {"2.5ns", "2ns"},
                                     {"3.5ns", "4ns"}}) {
    EXPECT_EQ(written("latency", given), "{'dma': {'latency': '" + reads + "'}}");
  }
  for (const auto& [given, reads] : {std::pair<Value, std::string>("25GB/s", "25GB/s"),
                                     {"200Gb/s", "25GB/s"},
                                     {"1KiB/s", "1.024kB/s"},
                                     {1e9, "1GB/s"},
                                     {"8 kbit/s", "1kB/s"},
                                     {123456789.123, "123.456789123MB/s"},
                                     {"1e15B/s", "1000TB/s"}}) {
    EXPECT_EQ(written("bandwidth", given), "{'dma': {'bandwidth': '" + reads + "'}}");
  }
}

TEST(TimingFileTest, QuantitiesDoNotDependOnTheLocale) {
  if (std::setlocale(LC_ALL, "de_DE.UTF-8") == nullptr) {
    GTEST_SKIP() << "the locale de_DE.UTF-8 is not installed";
  }
  EXPECT_EQ(written("latency", "1.9us"), "{'dma': {'latency': '1.9us'}}");
  std::setlocale(LC_ALL, "C");
}

TEST(TimingFileTest, WhatDoesNotFitIsNamedAndChangesNothing) {
  EXPECT_THAT(refusal("dna = {}"), HasSubstr("timing: key 'dna' does not exist; did you mean 'dma'"));
  EXPECT_THAT(refusal("dma.latancy = 1"), HasSubstr("timing: dma: key 'latancy'"));
  EXPECT_THAT(refusal("dma.latency = \"1.9 usec\""),
              HasSubstr("dma: latency: unit 'usec' does not exist; did you mean"));
  EXPECT_THAT(refusal("dma.latency = \"25\""),
              HasSubstr("dma: latency is \"25\", without a unit; write it as in \"1.9us\""));
  EXPECT_THAT(refusal("dma.latency = \"fast\""), HasSubstr("dma: latency is 'fast'; write a number and its unit"));
  EXPECT_THAT(refusal("dma.latency = \"1 u s\""), HasSubstr("write a number and its unit"));
  EXPECT_THAT(refusal("dma.latency = nan"), HasSubstr("nan"));
  EXPECT_THAT(refusal("dma.latency = true"), HasSubstr("dma: latency is True"));
  EXPECT_THAT(refusal("dma.latency = \"-1us\""), HasSubstr("dma: latency is -1us; it must be 0 to an hour"));
  EXPECT_THAT(refusal("dma.latency = 1e300"), HasSubstr("an hour"));
  EXPECT_THAT(refusal("dma.latency = \"1e99999999999999999999s\""), HasSubstr("an hour"));
  EXPECT_THAT(refusal("dma.bandwidth = 0"), HasSubstr("dma: bandwidth must be 1 to 1e15 a second"));
  EXPECT_THAT(refusal("dma.jitter = \"1us\""), HasSubstr("dma: jitter must be a table, not '1us'"));
  EXPECT_THAT(refusal("dma.jitter.spread = \"1us\""), HasSubstr("jitter needs a distribution: none, uniform, normal"));
  EXPECT_THAT(refusal("dma.queue_depth = 1.5"), HasSubstr("queue_depth must be a whole number"));
  EXPECT_THAT(refusal("dma = 5"), HasSubstr("timing: dma must be a table, not 5"));
  EXPECT_THAT(refusal("pcie = {}"), HasSubstr("timing: pcie needs a bandwidth"));
  EXPECT_THAT(refusal("preset = \"bluefeld3\""), HasSubstr("timing: preset 'bluefeld3' does not exist; did you mean"));
  EXPECT_THAT(refusal("profiles.bluefield9 = {}"), HasSubstr("timing: profile 'bluefield9'"));
  EXPECT_THAT(refusal("profiles.bluefield3.sah = {}"), HasSubstr("timing: profile bluefield3: key 'sah'"));
  EXPECT_THAT(refusal("devices.p7 = {}"), HasSubstr("timing: device 'p7' does not exist; use one of: pf0, "));
  EXPECT_THAT(refusal("devices.p0.seed = 1"), HasSubstr("timing: device p0: key 'seed'"));
  EXPECT_THAT(refusal("seed = -1"),
              HasSubstr("timing: seed must be a whole number in 0..18446744073709551615, not -1"));
}

}  // namespace
}  // namespace pydoca::sim
