#include <pydoca/comch.hpp>
#include <pydoca/device.hpp>
#include <pydoca/device_properties.hpp>
#include <pydoca/representor.hpp>
#include <pydoca/sim.hpp>

#include "backend/sim/place/topology.hpp"
#include "rig/expect_error.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace pydoca {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

sim::Topology cards_of(std::uint32_t count, std::uint32_t vfs = 0, std::uint32_t sfs = 0) {
  sim::Cards cards;
  cards.count = count;
  cards.vfs = vfs;
  cards.sfs = sfs;
  sim::Topology topology;
  sim::add_cards(topology, cards);
  return topology;
}

/// How many functions call() makes the simulator look at.
template <class Call>
std::uint64_t looks_of(Call call) {
  const std::uint64_t before = sim::functions_looked_at();
  call();
  return sim::functions_looked_at() - before;
}

TEST(Cards, HaveTheFunctionsOfBothSides) {
  sim::set_topology(cards_of(1, 1, 1));
  std::vector<std::string> names;
  for (const DeviceInfo& info : devices()) {
    names.push_back(info.name());
  }
  EXPECT_THAT(names, ElementsAre("card0-pf0", "card0-pf1", "card0-pf0vf0", "card0-pf1vf0", "card0-p0", "card0-p1",
                                 "card0-p0s0", "card0-p1s0"));
  const auto p0 = Device::open(find_device("card0-p0"));
  std::vector<std::string> representors;
  for (const RepresentorProperties& properties : p0->representors()) {
    representors.push_back(properties.name);
  }
  EXPECT_THAT(representors, ElementsAre("hpf0", "hpf0vf0", "pf0sf0"));
  EXPECT_EQ(p0->open_representor("0b:01.0")->properties().name, "hpf0vf0");
}

TEST(Cards, DifferInEverythingThatNamesThem) {
  sim::set_topology(cards_of(300, 3, 2));
  std::set<std::string> names;
  std::set<std::string> vuids;
  std::set<std::string> interfaces;
  std::set<std::array<std::uint8_t, 6>> macs;
  const auto infos = devices();
  for (const DeviceInfo& info : infos) {
    names.insert(info.name());
    vuids.insert(info.properties().vuid);
    interfaces.insert(info.properties().iface_name);
    macs.insert(info.mac_addr());
  }
  EXPECT_EQ(infos.size(), 300U * 14);
  EXPECT_EQ(names.size(), infos.size());
  EXPECT_EQ(vuids.size(), infos.size());
  EXPECT_EQ(interfaces.size(), infos.size());
  EXPECT_EQ(macs.size(), infos.size());
  EXPECT_EQ(find_device("0102:0b:00.1").name(), "card258-pf1");
  EXPECT_EQ(find_device("card258-pf0").properties().vuid, "SIM00258S0D0F0");
}

TEST(Cards, AreNamedByPatterns) {
  sim::Topology topology;
  sim::Cards cards("bluefield2");
  cards.count = 2;
  cards.first = 9;
  cards.name = "rack{:03}a";
  cards.serial = "MT{}X";
  cards.ports = 1;
  sim::add_cards(topology, cards);
  EXPECT_EQ(topology.functions.at(2).properties.name, "rack010a-pf0");
  EXPECT_EQ(topology.functions.at(2).properties.vuid, "MT10XS0D0F0");
  EXPECT_EQ(topology.functions.at(3).properties.profile, "bluefield2");
}

TEST(Cards, RefuseWhatDoesNotFit) {
  const auto status = [](auto change) {
    sim::Cards cards;
    cards.count = 2;
    change(cards);
    sim::Topology topology;
    return thrown_by([&] { sim::add_cards(topology, cards); });
  };
  for (const std::string pattern : {"card", "card{", "card}", "}{", "{x}", "{:3}", "{}{}", "{:0}"}) {
    EXPECT_EQ(status([&](sim::Cards& cards) { cards.name = pattern; }), Status::invalid_value) << pattern;
    EXPECT_EQ(status([&](sim::Cards& cards) { cards.serial = pattern; }), Status::invalid_value) << pattern;
  }
  EXPECT_EQ(status([](sim::Cards& cards) { cards.count = 0; }), Status::invalid_value);
  EXPECT_EQ(status([](sim::Cards& cards) { cards.count = 65537; }), Status::invalid_value);
  EXPECT_EQ(status([](sim::Cards& cards) { cards.first = 65535; }), Status::invalid_value);
  EXPECT_EQ(status([](sim::Cards& cards) { cards.first = 0xffff'ffff; }), Status::invalid_value);
  EXPECT_EQ(status([](sim::Cards& cards) { cards.ports = 3; }), Status::invalid_value);
  EXPECT_EQ(status([](sim::Cards& cards) { cards.vfs = 121; }), Status::invalid_value);
  EXPECT_EQ(status([](sim::Cards& cards) { cards.sfs = 1001; }), Status::invalid_value);
}

TEST(Cards, OfTwoKindsWithOneNameAreRefused) {
  sim::Topology topology = cards_of(2);
  sim::Cards cards;
  cards.first = 1;
  sim::add_cards(topology, cards);
  EXPECT_EQ(thrown_by([&] { sim::set_topology(topology); }), Status::invalid_value);
}

// ---- Of ten thousand functions, a call looks at those that it is about.

TEST(ManyFunctions, AreNotLookedAtToFindOne) {
  sim::set_topology(cards_of(2500));
  ASSERT_EQ(devices().size(), 10'000U);
  const std::uint64_t few = 8;
  std::shared_ptr<Device> p0;
  EXPECT_LE(looks_of([&] { p0 = Device::open(find_device("card2499-p0")); }), few);
  EXPECT_LE(looks_of([] { Device::open(find_device("09c3:0b:00.0"))->close(); }), few);
  EXPECT_LE(looks_of([] { find_device("enP2499p3s0f1"); }), few);
  EXPECT_LE(looks_of([&] { p0->open_representor("hpf0"); }), few);
  EXPECT_LE(looks_of([&] { p0->open_representor("09c3:0b:00.0"); }), few);
  EXPECT_LE(looks_of([&] { p0->open_representor(p0->representors().front()); }), few);
  EXPECT_LE(looks_of([] { sim::remove_device("card2498-p0"); }), few);
  EXPECT_LE(looks_of([] { sim::restore_device("card2498-p0"); }), few);
  EXPECT_LE(looks_of([] { sim::remove_device("09c2:03:00.1"); }), few);
  EXPECT_LE(looks_of([&] { EXPECT_FALSE(p0->replaced()); }), few);
}

TEST(ManyFunctions, AreLookedAtOnceByAnEnumeration) {
  sim::set_topology(cards_of(2500));
  EXPECT_EQ(looks_of([] { devices(); }), 10'000U);
  EXPECT_EQ(looks_of([] { devices(); }), 10'000U);
}

TEST(ManyFunctions, ShareTheirPropertiesWithWhatFindsThem) {
  sim::set_topology(cards_of(4));
  EXPECT_EQ(&find_device("card3-p0").properties(), &find_device("0003:03:00.0").properties()) << "no copy";
}

TEST(ManyRepresentors, AreNotLookedAtToFindOne) {
  sim::set_topology(cards_of(1, 120, 1000));
  const auto p0 = Device::open(find_device("card0-p0"));
  ASSERT_EQ(p0->representors().size(), 1 + 120 + 1000U);
  EXPECT_LE(looks_of([&] { p0->open_representor("pf0sf999"); }), 2U);
  EXPECT_EQ(find_device("0000:03:00.0").name(), "card0-p0") << "a thousand SFs have this address, too";
}

TEST(ManyFunctions, StayReadableInErrors) {
  sim::set_topology(cards_of(2500));
  EXPECT_LT(reason_of([] { find_device("nobody"); }).size(), 2000U);
  EXPECT_THAT(reason_of([] { find_device("nobody"); }), HasSubstr("and 9984 more"));
  EXPECT_THAT(reason_of([] { find_device("mlx5_0"); }), HasSubstr("names 2 devices"));
}

}  // namespace
}  // namespace pydoca
