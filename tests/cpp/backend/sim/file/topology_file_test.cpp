#include <pydoca/capabilities.hpp>
#include <pydoca/device.hpp>
#include <pydoca/device_properties.hpp>
#include <pydoca/sim.hpp>

#include "rig/expect_error.hpp"
#include "rig/temporary_directory.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

namespace pydoca::sim {
namespace {

using testing::HasSubstr;

/// The refusal of a table, which changes nothing.
std::string refused(const std::string& text) {
  const std::size_t before = topology().functions.size();
  const Table table = parse_toml(text);
  EXPECT_EQ(thrown_by([&] { load_topology(table); }), Status::invalid_value) << text;
  EXPECT_EQ(topology().functions.size(), before);
  return reason_of([&] { load_topology(table); });
}

std::string function_with(const std::string& keys) {
  return "[[function]]\nname = \"x\"\npci_addr = \"01:00.0\"\nside = \"dpu\"\n" + keys;
}

TEST(TopologyFileTest, AFileDescribesAnotherMachine) {
  const TemporaryDirectory directory;
  const std::string path = directory.path() / "machine.toml";
  std::ofstream(path)
      << "profile = \"bluefield2\"\n" + function_with("ipv4_addr = \"192.168.1.7\"\n") +
             "[[function]]\nname = \"port\"\npci_addr = \"0c:00.0\"\nside = \"host\"\nparent = \"x\"\n"
             "profile = \"bluefield3\"\nlid = 9\ncapabilities = {dma = false, comch = {max_clients = 3}}\n"
             "[timing.devices.port.dma]\nlatency = \"3us\"\n";
  load_topology(path);
  const Topology& machine = topology();
  ASSERT_EQ(machine.functions.size(), 2U);
  const DeviceProperties& first = machine.functions[0].properties;
  const DeviceProperties& second = machine.functions[1].properties;
  EXPECT_EQ(first.ipv4_addr, (std::array<std::uint8_t, 4>{192, 168, 1, 7}));
  EXPECT_EQ(first.active_rate, 200'000'000'000U);
  EXPECT_EQ(first.vuid, "SIM-x");
  EXPECT_EQ(second.profile, "bluefield3");
  EXPECT_EQ(second.vhca_id, 1);
  EXPECT_FALSE(second.mac_addr.has_value());
  EXPECT_FALSE(second.capabilities.dma.has_value());
  EXPECT_EQ(second.capabilities.comch->max_clients, 3U);
  EXPECT_TRUE(second.capabilities.comch->client);
  EXPECT_EQ(timing_of("port").operations.at("dma").latency, std::chrono::microseconds(3));
  EXPECT_EQ(text_of(*loaded_machine()).substr(0, 24), "{'profile': 'bluefield2'");
}

TEST(TopologyFileTest, AProfileAloneIsTheDefaultMachineWithIt) {
  load_topology(parse_toml("profile = \"bluefield2\"\n"));
  ASSERT_EQ(topology().functions.size(), 9U);
  EXPECT_EQ(topology().functions[8].properties.profile, "bluefield2");
  load_topology(parse_toml("host_pci_addr = \"b1:00.0\"\n"));
  EXPECT_EQ(topology().functions[4].properties.pci_addr, "0000:b1:00.4");
  EXPECT_EQ(topology().functions[5].properties.pci_addr, "0000:03:00.0");
  EXPECT_EQ(find_device("b1:00.0").name(), "pf0");
  load_topology(Table());
  EXPECT_EQ(topology().functions.size(), 9U);
  load_topology(parse_toml("function = []\n"));
  EXPECT_TRUE(topology().functions.empty());
}

TEST(TopologyFileTest, TheProfileAllHasEveryEngine) {
  set_topology(default_topology("all"));
  const DeviceInfo info = find_device("p0");
  EXPECT_EQ(info.properties().profile, "all");
  const Capabilities& can = info.capabilities();
  EXPECT_TRUE(can.dma && can.comch && can.sync_event && can.rdma && can.clock && can.dpa);
  EXPECT_TRUE(can.sha.has_value() || info.capabilities().refusals.sha != "only a BlueField-2 has a SHA engine");
  EXPECT_TRUE(can.sync_event->async_wait);
}

TEST(TopologyFileTest, CardsAreFunctions) {
  load_topology(
      parse_toml("[[card]]\ncount = 3\nports = 1\n[card.host]\ncapabilities = {dma = false}\n"
                 "[[card]]\nname = \"last{}\"\nports = 1\nprofile = \"bluefield2\"\n"));
  ASSERT_EQ(topology().functions.size(), 8U);
  EXPECT_EQ(topology().functions[4].properties.name, "card2-pf0");
  EXPECT_FALSE(topology().functions[4].properties.capabilities.dma.has_value());
  EXPECT_EQ(topology().functions[7].properties.name, "last3-p0");
}

TEST(TopologyFileTest, WhatDoesNotFitIsNamedAndChangesNothing) {
  EXPECT_THAT(refused("functions = []"),
              HasSubstr("topology: key 'functions' does not exist; did you mean 'function'?"));
  EXPECT_THAT(refused("function = [1]"), HasSubstr("write [[function]] before each"));
  EXPECT_THAT(refused("[[function]]\nname = \"x\""), HasSubstr("function 1 needs a pci_addr"));
  EXPECT_THAT(refused(function_with("pci_adr = 1")), HasSubstr("function 1: key 'pci_adr'"));
  EXPECT_THAT(refused(function_with("func_type = \"qf\"")), HasSubstr("function type 'qf'"));
  EXPECT_THAT(refused(function_with("profile = [\"a\"]")), HasSubstr("profile must be text, not ['a']"));
  EXPECT_THAT(refused(function_with("vhca_id = 70000")),
              HasSubstr("function \"x\": vhca_id must be a whole number in 0..65535, not 70000"));
  EXPECT_THAT(refused(function_with("vhca_id = -1")), HasSubstr("not -1"));
  EXPECT_THAT(refused(function_with("vhca_id = true")), HasSubstr("not True"));
  EXPECT_THAT(refused(function_with("is_emulated = 1")), HasSubstr("is_emulated must be true or false"));
  EXPECT_THAT(refused(function_with("mac_addr = \"02:aa\"")), HasSubstr("'02:aa' is not a MAC address"));
  EXPECT_THAT(refused(function_with("ipv4_addr = \"1.2.3\"")), HasSubstr("IPv4 address"));
  EXPECT_THAT(refused(function_with("ipv6_addr = \"10.0.0.1\"")), HasSubstr("IPv6 address"));
  EXPECT_THAT(refused(function_with("[function.capabilities.rdma]\nmax_mtu = 1000")), HasSubstr("max_mtu must be 256"));
  EXPECT_THAT(refused(function_with("capabilities = 3")), HasSubstr("capabilities must be a table"));
  EXPECT_THAT(refused(function_with("capabilities = {dma = {max_buf = 1}}")), HasSubstr("did you mean 'max_buf_size'"));
  EXPECT_THAT(refused(function_with("vuid = 2026-01-31")), HasSubstr("vuid must be text, not 2026-01-31"));
  EXPECT_THAT(refused("[[card]]\nhost = {name = \"x\"}"), HasSubstr("card 1: host: key 'name'"));
  EXPECT_THAT(refused("profile = \"bf9\""),
              HasSubstr("\"bf9\" is not a profile; there are: bluefield2, bluefield3, all"));
  EXPECT_THAT(refused("host_pci_addr = \"b1:00.1\""), HasSubstr("write it as b1:00.0"));
  EXPECT_THAT(refused("host_pci_addr = \"b1\""), HasSubstr("PCI address"));
  EXPECT_THAT(refused("host_pci_addr = \"b1:00.0\"\n[[card]]"), HasSubstr("of the default machine"));
  EXPECT_THAT(refused("[timing.devices.p9]\n[[card]]"), HasSubstr("timing: device 'p9' does not exist"));
}

TEST(TopologyFileTest, ATopologyThatWasSetIsNotDescribedForOthers) {
  set_topology(default_topology());
  EXPECT_EQ(thrown_by([] { static_cast<void>(loaded_machine()); }), Status::not_supported);
}

}  // namespace
}  // namespace pydoca::sim
