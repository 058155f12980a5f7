#include <pydoca/device_properties.hpp>
#include <pydoca/faults.hpp>

#include "rig/expect_error.hpp"
#include "rig/temporary_directory.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

namespace pydoca {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

FaultRule rule_of(const std::string& text) { return read_fault_rule(parse_toml(text)); }

std::string refusal(const std::string& text) {
  EXPECT_EQ(thrown_by([&] { static_cast<void>(rule_of(text)); }), Status::invalid_value) << text;
  return reason_of([&] { static_cast<void>(rule_of(text)); });
}

TEST(FaultRuleTest, ATableHasTheKeysOfARule) {
  const FaultRule rule = rule_of(
      "action = \"delay\"\nopcode = [\"rdma.write\", \"dma.memcpy\"]\nby = \"2 ms\"\nevery = 3\ndevice = \"pf0\"\n"
      "side = \"host\"\nafter = 0.25\nuntil = \"1 min\"\nprobability = 0.5\n");
  EXPECT_EQ(rule.action, FaultAction::delay);
  EXPECT_THAT(rule.opcodes, ElementsAre("rdma.write", "dma.memcpy"));
  EXPECT_EQ(rule.by, 2ms);
  EXPECT_EQ(rule.every, 3U);
  EXPECT_EQ(rule.side, Side::host);
  EXPECT_EQ(rule.after, 250ms);
  EXPECT_EQ(rule.until, 60s);
  EXPECT_EQ(rule.probability, 0.5);
  EXPECT_EQ(rule.keys.entries.size(), 9U);
  EXPECT_EQ(rule_of("action = \"fail\"\nstatus = \"not_permitted\"").status, Status::not_permitted);
}

TEST(FaultRuleTest, ALibraryNamesAllItsOperationsThatTheActionCanMeet) {
  EXPECT_THAT(rule_of("action = \"misreport_length\"\nopcode = \"comch\"").opcodes,
              ElementsAre("comch.send", "comch.receive"));
  EXPECT_THAT(refusal("action = \"misreport_length\"\nopcode = \"sync_event\""),
              HasSubstr("misreport_length cannot happen to an operation of sync_event"));
}

TEST(FaultRuleTest, CapabilitiesAreMisreported) {
  Capabilities can;
  can.dma.emplace();
  rule_of("action = \"misreport_capability\"\ncapabilities = {dma = {max_buf_size = 7}}").misreport(can);
  EXPECT_EQ(can.dma->max_buf_size, 7U);
}

TEST(FaultRuleTest, WhatDoesNotFitIsNamed) {
  EXPECT_THAT(refusal("opcode = \"dma.memcpy\""), HasSubstr("fault rule: it needs an action, one of fail, drop"));
  EXPECT_THAT(refusal("action = \"fial\""), HasSubstr("action 'fial' does not exist; did you mean 'fail'"));
  EXPECT_THAT(refusal("action = \"fail\"\nprobabilty = 1"), HasSubstr("did you mean 'probability'"));
  EXPECT_THAT(refusal("action = \"fail\"\nopcode = \"dma.memcopy\""), HasSubstr("did you mean 'dma.memcpy'"));
  EXPECT_THAT(refusal("action = \"delay\""), HasSubstr("it needs by"));
  EXPECT_THAT(refusal("action = \"delay\"\nby = \"5 msec\""), HasSubstr("unit 'msec' does not exist"));
  EXPECT_THAT(refusal("action = \"delay\"\nby = \"5\""), HasSubstr("without a unit; write \"5 ms\""));
  EXPECT_THAT(refusal("action = \"delay\"\nby = \"-5 ms\""), HasSubstr("write a number and a unit"));
  EXPECT_THAT(refusal("action = \"delay\"\nby = -1"), HasSubstr("by must be seconds, or text"));
  EXPECT_THAT(refusal("action = \"delay\"\nby = nan"), HasSubstr("by must be seconds, or text"));
  EXPECT_THAT(refusal("action = \"delay\"\nby = 1e30"), HasSubstr("which is too long"));
  EXPECT_THAT(refusal("action = \"kill\"\nby = 1"), HasSubstr("by is a key of another action; kill takes no such key"));
  EXPECT_THAT(refusal("action = \"fail\"\nnth = 0"), HasSubstr("nth must be a whole number in 1.."));
  EXPECT_THAT(refusal("action = \"fail\"\nside = 1"), HasSubstr("side must be one of host, dpu, not 1"));
  EXPECT_THAT(refusal("action = \"fail\"\nstatus = \"io_fail\""), HasSubstr("did you mean 'io_failed'"));
  EXPECT_THAT(refusal("action = \"corrupt\"\nvalue = 3"), HasSubstr("value is the one of a stuck byte"));
  EXPECT_THAT(refusal("action = \"fail\"\nprobability = 2"), HasSubstr("probability must be a number in 0..1, not 2"));
  EXPECT_THAT(refusal("action = \"fail\"\ndevice = 3"), HasSubstr("device must be a name"));
}

TEST(FaultRuleTest, AFileIsAPlan) {
  const TemporaryDirectory directory;
  const std::string path = directory.path() / "plan.toml";
  std::ofstream(path) << "seed = 4\n[[rule]]\naction = \"fail\"\nopcode = \"dma.memcpy\"\n";
  const auto plan = FaultPlan::load(path);
  EXPECT_EQ(plan->seed(), 4U);
  EXPECT_EQ(plan->rules().size(), 1U);
  EXPECT_FALSE(plan->is_in_force());
  std::ofstream(path) << "rules = []\n";
  EXPECT_THAT(reason_of([&] { FaultPlan::load(path); }), HasSubstr("plan.toml: fault plan: key 'rules'"));
  std::ofstream(path) << "rule = 1\n";
  EXPECT_THAT(reason_of([&] { FaultPlan::load(path); }), HasSubstr("write [[rule]] before each"));
  std::ofstream(path) << "seed = -1\n";
  EXPECT_THAT(reason_of([&] { FaultPlan::load(path); }), HasSubstr("seed must be a whole number"));
}

}  // namespace
}  // namespace pydoca
