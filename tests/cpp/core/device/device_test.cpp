#include <pydoca/backend/device.hpp>
#include <pydoca/device.hpp>
#include <pydoca/device_properties.hpp>
#include <pydoca/representor.hpp>
#include <pydoca/sim.hpp>

#include "rig/expect_error.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace pydoca {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

/// The machine of the DOCA guide, seen from both sides (rig/fresh_start.cpp).
class Devices : public testing::Test {};

std::vector<std::string> names(const std::vector<DeviceInfo>& infos) {
  std::vector<std::string> list;
  std::ranges::transform(infos, std::back_inserter(list), &DeviceInfo::name);
  return list;
}

std::vector<std::string> names(const std::vector<RepresentorProperties>& representors) {
  std::vector<std::string> list;
  std::ranges::transform(representors, std::back_inserter(list), &RepresentorProperties::name);
  return list;
}

// ---- Enumeration and selection

TEST_F(Devices, AreTheGuidesMachine) {
  EXPECT_THAT(names(devices()), ElementsAre("pf0", "pf1", "pf0vf0", "pf0vf1", "pf1vf0", "p0", "p1", "p0s0", "p1s0"));
  EXPECT_EQ(find_device("pf0vf1").pci_addr(), "0000:0b:00.3");
  EXPECT_EQ(find_device("p1").pci_addr(), "0000:03:00.1");
}

TEST_F(Devices, HaveThePropertiesOfTheirFunctionType) {
  const DeviceInfo pf = find_device("pf0");
  EXPECT_EQ(pf.properties().backend, "sim");
  EXPECT_EQ(pf.properties().side, Side::host);
  EXPECT_EQ(pf.properties().func_type, PciFuncType::pf);
  EXPECT_EQ(pf.properties().active_rate, 400'000'000'000U);
  EXPECT_EQ(pf.mac_addr()[0], 0x02);
  EXPECT_EQ(pf.ipv4_addr(), (std::array<std::uint8_t, 4>{10, 0, 0, 1}));
  EXPECT_EQ(pf.ipv6_addr()[0], 0xfe);
  EXPECT_EQ(find_device("p0s0").sf_index(), 0U);
  EXPECT_EQ(find_device("pf0vf0").properties().func_type, PciFuncType::vf);
}

TEST_F(Devices, SayWhatTheyLackAsDocaDoes) {
  const DeviceInfo vf = find_device("pf0vf0");
  EXPECT_EQ(thrown_by([&] { vf.ipv4_addr(); }), Status::not_found);
  EXPECT_EQ(thrown_by([&] { vf.ipv6_addr(); }), Status::not_found);
  EXPECT_EQ(thrown_by([&] { vf.lid(); }), Status::not_supported);
  EXPECT_EQ(thrown_by([&] { vf.sf_index(); }), Status::not_supported);
  DeviceProperties infiniband = vf.properties();
  infiniband.mac_addr.reset();
  infiniband.lid = 17;
  const DeviceInfo ib(vf.backend(), infiniband);
  EXPECT_EQ(thrown_by([&] { ib.mac_addr(); }), Status::not_supported);
  EXPECT_EQ(ib.lid(), 17);
}

TEST_F(Devices, AreUniqueWhereTheyMustBe) {
  std::set<std::string> vuids;
  std::set<std::array<std::uint8_t, 6>> macs;
  std::set<std::uint16_t> vhcas;
  const auto all = devices();
  for (const DeviceInfo& info : all) {
    vuids.insert(info.properties().vuid);
    macs.insert(info.mac_addr());
    vhcas.insert(info.properties().vhca_id);
  }
  EXPECT_EQ(vuids.size(), all.size());
  EXPECT_EQ(macs.size(), all.size());
  EXPECT_EQ(vhcas.size(), all.size());
}

TEST_F(Devices, AreFoundByAnyOfTheirNames) {
  for (const char* const selector : {"0000:0b:00.2", "0b:00.2", "0B:00.2", "pf0vf0", "ens1f0v0"}) {
    EXPECT_EQ(find_device(selector).name(), "pf0vf0") << selector;
  }
  EXPECT_EQ(find_device("mlx5_0", Side::host).name(), "pf0");
  EXPECT_EQ(find_device("mlx5_0", Side::dpu).name(), "p0");
  EXPECT_EQ(find_device("p0s0").name(), "p0s0");
}

TEST_F(Devices, AnAddressSharedWithASubfunctionNamesTheParent) {
  EXPECT_EQ(find_device("03:00.0").name(), "p0");
  sim::remove_device("p0");
  EXPECT_EQ(find_device("03:00.0").name(), "p0s0");
}

TEST_F(Devices, AnUnknownNameListsWhatThereIs) {
  EXPECT_EQ(thrown_by([] { find_device("nope"); }), Status::not_found);
  EXPECT_EQ(thrown_by([] { find_device(""); }), Status::not_found);
  EXPECT_EQ(thrown_by([] { find_device("7f:00.0"); }), Status::not_found);
  EXPECT_EQ(thrown_by([] { find_device("pf0", Side::dpu); }), Status::not_found);
  EXPECT_THAT(reason_of([] { find_device("nope"); }), HasSubstr("pf0vf1 (0000:0b:00.3, host)"));
}

TEST_F(Devices, AnAmbiguousNameListsTheCandidates) {
  EXPECT_EQ(thrown_by([] { find_device("mlx5_0"); }), Status::invalid_value);
  EXPECT_THAT(reason_of([] { find_device("mlx5_0"); }), HasSubstr("pf0 (0000:0b:00.0, host), p0 (0000:03:00.0, dpu)"));
}

TEST_F(Devices, AreFoundByPredicate) {
  const auto can_serve = [](const DeviceInfo& info) { return info.capabilities().comch->server; };
  EXPECT_EQ(find_device(can_serve).name(), "p0");
  EXPECT_EQ(thrown_by([&] { find_device(can_serve, Side::host); }), Status::not_found);
}

TEST_F(Devices, ASideOfTheEnvironmentLimitsWhatIsSeen) {
  ::setenv("PYDOCA_SIDE", "dpu", 1);
  EXPECT_THAT(names(devices()), ElementsAre("p0", "p1", "p0s0", "p1s0"));
  EXPECT_EQ(find_device("mlx5_0").name(), "p0");
  EXPECT_EQ(thrown_by([] { find_device("pf0"); }), Status::not_found);
  EXPECT_THAT(reason_of([] { find_device("pf0"); }), HasSubstr("PYDOCA_SIDE=dpu"));
  ::setenv("PYDOCA_SIDE", "Host", 1);
  EXPECT_EQ(thrown_by([] { devices(); }), Status::invalid_value);
  ::setenv("PYDOCA_SIDE", "", 1);
  EXPECT_EQ(devices().size(), 9U);
}

TEST_F(Devices, ABackendOfTheEnvironmentLimitsWhatIsSeen) {
  EXPECT_TRUE(unavailable_backends().empty());
  ::setenv("PYDOCA_BACKEND", "Sim", 1);
  EXPECT_EQ(thrown_by([] { devices(); }), Status::invalid_value);
  EXPECT_EQ(thrown_by([] { unavailable_backends(); }), Status::invalid_value);
  EXPECT_THAT(reason_of([] { devices(); }), HasSubstr("one of sim, verbs"));
  ::setenv("PYDOCA_BACKEND", "", 1);
  EXPECT_EQ(find_device("p0").properties().backend, "sim");
}

TEST_F(Devices, NoneAtAllIsAnError) {
  sim::set_topology({});
  EXPECT_EQ(thrown_by([] { devices(); }), Status::not_found);
}

TEST(PciAddr, HasOneLongForm) {
  EXPECT_EQ(canonical_pci_addr("3A:1f.7"), "0000:3a:1f.7");
  EXPECT_EQ(canonical_pci_addr("AbCd:00:00.0"), "abcd:00:00.0");
}

TEST(PciAddr, RefusesOtherForms) {
  for (const char* const text : {"", "p0", "3:00.0", "03:00", "03:00.8", "03:20.0", "03:00.0 ", " 03:00.0", "003:00.0",
                                 "0000:03:00", "00000:03:00.0", "0000-03:00.0", "000g:03:00.0", "03.00.0", "g3:00.0"}) {
    EXPECT_EQ(thrown_by([&] { canonical_pci_addr(text); }), Status::invalid_value) << text;
  }
}

TEST_F(Devices, CompareAddresses) {
  const DeviceInfo info = find_device("p0");
  EXPECT_TRUE(info.is_equal_pci_addr("03:00.0"));
  EXPECT_FALSE(info.is_equal_pci_addr("0000:03:00.1"));
  EXPECT_EQ(thrown_by([&] { info.is_equal_pci_addr("p0"); }), Status::invalid_value);
}

// ---- Profiles and topologies

TEST(Profile, SetsLimitsAndEngines) {
  const Capabilities host = sim::profile_capabilities("bluefield3", Side::host);
  const Capabilities dpu = sim::profile_capabilities("bluefield2", Side::dpu);
  EXPECT_EQ(host.dma->max_buf_size, 2U << 20);
  EXPECT_EQ(host.dma->max_buf_list_len, 64U);
  EXPECT_EQ(host.dma->max_num_tasks, 65536U);
  EXPECT_EQ(host.comch->max_msg_size, 4080U);
  EXPECT_EQ(host.comch->max_clients, 2048U);
  EXPECT_EQ(dpu.comch->max_clients, 512U);
  EXPECT_TRUE(host.comch->client && !host.comch->server);
  EXPECT_TRUE(dpu.comch->server && !dpu.comch->client);
  EXPECT_TRUE(host.mmap_export_pci && !host.mmap_create_from_export_pci && !host.rep_filter_all);
  EXPECT_TRUE(!dpu.mmap_export_pci && dpu.mmap_create_from_export_pci && dpu.rep_filter_all);
  EXPECT_TRUE(host.sync_event->async_wait);
  EXPECT_FALSE(dpu.sync_event->async_wait);
}

TEST(Profile, AnUnknownOneListsTheOthers) {
  EXPECT_THAT(sim::profiles(), ElementsAre("bluefield2", "bluefield3", "all"));
  EXPECT_EQ(thrown_by([] { sim::default_topology("bluefield4"); }), Status::invalid_value);
  EXPECT_THAT(reason_of([] { sim::profile_capabilities("bluefield4", Side::dpu); }), HasSubstr("bluefield3"));
}

TEST_F(Devices, FollowTheProfile) {
  sim::set_topology(sim::default_topology("bluefield2"));
  EXPECT_EQ(find_device("p0").properties().profile, "bluefield2");
  EXPECT_EQ(find_device("p0").properties().active_rate, 200'000'000'000U);
}

sim::Function function(std::string name, std::string address, Side side, std::string parent = {}) {
  sim::Function function;
  function.properties.name = std::move(name);
  function.properties.pci_addr = std::move(address);
  function.properties.side = side;
  function.parent = std::move(parent);
  return function;
}

TEST_F(Devices, CanBeAnyTopology) {
  sim::Topology topology;
  topology.functions = {function("eth", "41:00.0", Side::host, "arm"), function("arm", "1:02:00.0", Side::dpu)};
  EXPECT_EQ(thrown_by([&] { sim::set_topology(topology); }), Status::invalid_value) << "1:02:00.0 is not an address";
  EXPECT_EQ(devices().size(), 9U) << "a refused topology must change nothing";
  topology.functions[1].properties.pci_addr = "0001:02:00.0";
  sim::set_topology(topology);
  EXPECT_THAT(names(devices()), ElementsAre("eth", "arm"));
  EXPECT_EQ(find_device("eth").pci_addr(), "0000:41:00.0");
  EXPECT_EQ(find_device("eth").properties().backend, "sim");
}

TEST_F(Devices, RefuseAnImpossibleTopology) {
  const auto refused = [](std::vector<sim::Function> functions) {
    return thrown_by([&] { sim::set_topology({.functions = std::move(functions)}); });
  };
  const sim::Function dpu = function("p", "03:00.0", Side::dpu);
  EXPECT_EQ(refused({function("", "03:00.0", Side::dpu)}), Status::invalid_value);
  EXPECT_EQ(refused({dpu, function("p", "03:00.1", Side::host)}), Status::invalid_value);
  EXPECT_EQ(refused({dpu, function("q", "0000:03:00.0", Side::host)}), Status::invalid_value);
  EXPECT_EQ(refused({dpu, function("q", "03:00.1", Side::host, "r")}), Status::invalid_value);
  EXPECT_EQ(refused({dpu, function("h", "04:00.0", Side::host), function("q", "03:00.1", Side::host, "h")}),
            Status::invalid_value);
}

TEST(FabricName, IsChecked) {
  sim::set_fabric("lab-1.a_b");
  EXPECT_EQ(sim::fabric(), "lab-1.a_b");
  for (const std::string& name : {std::string(), std::string("a/b"), std::string(".."), std::string("."),
                                  std::string("a b"), std::string(65, 'x'), std::string("a\0b", 3)}) {
    EXPECT_EQ(thrown_by([&] { sim::set_fabric(name); }), Status::invalid_value) << name;
  }
  EXPECT_EQ(sim::fabric(), "lab-1.a_b");
  sim::set_fabric(std::string(64, 'x'));
}

// ---- Opening and closing

TEST_F(Devices, OpenedTwiceAreOneObject) {
  const auto one = Device::open(find_device("pf0"));
  const auto two = Device::open(find_device("pf0"));
  EXPECT_EQ(one, two);
  one->close();
  EXPECT_TRUE(two->is_open());
  two->close();
  EXPECT_FALSE(one->is_open());
  EXPECT_EQ(thrown_by([&] { one->close(); }), Status::bad_state);
  const auto three = Device::open(find_device("pf0"));
  EXPECT_NE(three, one) << "a closed device stays closed";
  EXPECT_EQ(one->info().name(), "pf0");
  EXPECT_FALSE(one->removed());
}

TEST_F(Devices, OfDifferentFunctionsHaveOrdinalsOfTheirOwn) {
  std::vector<std::shared_ptr<Device>> open;
  std::set<std::size_t> ordinals;
  for (const DeviceInfo& info : devices()) {
    ordinals.insert(open.emplace_back(Device::open(info))->ordinal());
  }
  EXPECT_EQ(ordinals.size(), open.size());
  EXPECT_LT(*ordinals.rbegin(), max_open_devices);
  const std::size_t freed = open[3]->ordinal();
  open[3]->close();
  EXPECT_EQ(Device::open(open[3]->info())->ordinal(), freed) << "an ordinal is used again";
}

TEST_F(Devices, DroppedWithoutCloseAreClosed) {
  auto device = Device::open(find_device("pf0"));
  const std::size_t ordinal = device->ordinal();
  device.reset();
  EXPECT_EQ(Device::open(find_device("pf0"))->ordinal(), ordinal);
}

TEST_F(Devices, AreLimitedInNumber) {
  sim::Topology topology;
  sim::Cards cards;
  cards.count = max_open_devices / 4 + 1;
  sim::add_cards(topology, cards);
  sim::set_topology(topology);
  std::vector<std::shared_ptr<Device>> open;
  const auto infos = devices();
  for (std::size_t i = 0; i < max_open_devices; ++i) {
    open.push_back(Device::open(infos[i]));
  }
  EXPECT_EQ(thrown_by([&] { Device::open(infos.back()); }), Status::initialization);
  open.front()->close();
  EXPECT_TRUE(Device::open(infos.back())->is_open());
}

TEST_F(Devices, InUseDoNotClose) {
  const auto device = Device::open(find_device("p0"));
  {
    const DeviceUse use(device, DeviceUser::context);
    const DeviceUse other(device, DeviceUser::context);
    EXPECT_EQ(device->num_users(), 2U);
    EXPECT_EQ(thrown_by([&] { device->close(); }), Status::in_use);
    EXPECT_TRUE(device->is_open());
  }
  device->close();
  EXPECT_EQ(thrown_by([&] { DeviceUse use(device, DeviceUser::context); }), Status::bad_state);
  EXPECT_EQ(thrown_by([] { DeviceUse use(nullptr, DeviceUser::context); }), Status::invalid_value);
}

TEST_F(Devices, AMovedUseCountsOnce) {
  const auto device = Device::open(find_device("p0"));
  DeviceUse use(device, DeviceUser::context);
  const DeviceUse moved(std::move(use));
  EXPECT_EQ(device->num_users(), 1U);
  EXPECT_EQ(&*moved, device.get());
}

TEST_F(Devices, AnOpeningBesideAUserCanBeTakenBack) {
  const auto one = Device::open(find_device("p0"));
  const auto two = Device::open(find_device("p0"));
  const DeviceUse use(one, DeviceUser::context);
  two->close();
  EXPECT_EQ(thrown_by([&] { one->close(); }), Status::in_use);
}

TEST_F(Devices, OpenAndCloseInSeveralThreads) {
  constexpr int rounds = 200;
  const auto work = [] {
    for (int i = 0; i < rounds; ++i) {
      const auto device = Device::open(find_device("pf1"));
      const DeviceUse use(device, DeviceUser::context);
      EXPECT_EQ(device->info().name(), "pf1");
    }
  };
  std::thread one(work);
  std::thread other(work);
  one.join();
  other.join();
}

// ---- Resources

TEST_F(Devices, AccelerateTheReclaimOfResourcesByACapability) {
  const auto device = Device::open(find_device("p0"));
  EXPECT_FALSE(device->info().capabilities().accelerate_resource_reclaim);
  EXPECT_FALSE(device->info().capabilities().notification_moderation);
  EXPECT_EQ(thrown_by([&] { device->accelerate_resource_reclaim(); }), Status::not_supported);
  device->close();
  EXPECT_EQ(thrown_by([&] { device->accelerate_resource_reclaim(); }), Status::bad_state);
}

TEST_F(Devices, OfATopologyThatReclaimsAccelerateIt) {
  auto topology = sim::default_topology();
  for (sim::Function& function : topology.functions) {
    function.properties.capabilities.accelerate_resource_reclaim = true;
  }
  sim::set_topology(topology);
  const auto device = Device::open(find_device("p0"));
  device->accelerate_resource_reclaim();
  sim::remove_device("p0");
  EXPECT_EQ(thrown_by([&] { device->accelerate_resource_reclaim(); }), Status::driver);
  device->close();
}

// ---- Removal

TEST_F(Devices, ARemovedOneLeavesEnumerationAndFails) {
  const DeviceInfo info = find_device("p0");
  const auto device = Device::open(info);
  EXPECT_FALSE(device->removed());
  sim::remove_device("p0");
  EXPECT_TRUE(device->removed());
  EXPECT_EQ(thrown_by([] { find_device("p0"); }), Status::not_found);
  EXPECT_EQ(thrown_by([&] { Device::open(info); }), Status::not_found);
  EXPECT_EQ(thrown_by([&] { device->representors(); }), Status::driver);
  EXPECT_EQ(thrown_by([&] { device->backend().import_memory({}, nullptr); }), Status::driver);
  device->close();
}

TEST_F(Devices, ARestoredOneOpensAnewAndTheOldObjectStaysDead) {
  const auto old = Device::open(find_device("p0"));
  sim::remove_device("p0");
  sim::restore_device("p0");
  const auto fresh = Device::open(find_device("p0"));
  EXPECT_NE(fresh, old);
  EXPECT_TRUE(old->removed());
  EXPECT_FALSE(fresh->removed());
  EXPECT_NE(fresh->ordinal(), old->ordinal());
}

TEST_F(Devices, AnAddressNamesTheRemovedOne) {
  sim::remove_device("03:00.0");
  EXPECT_EQ(thrown_by([] { find_device("p0"); }), Status::not_found);
  EXPECT_EQ(find_device("p0s0").pci_addr(), "0000:03:00.0");  // the SF stays
  sim::restore_device("0000:03:00.0");
  EXPECT_EQ(find_device("p0").name(), "p0");
  EXPECT_EQ(thrown_by([] { sim::remove_device("7f:00.0"); }), Status::not_found);
}

TEST_F(Devices, RemovalKnowsItsNames) {
  EXPECT_EQ(thrown_by([] { sim::remove_device("nope"); }), Status::not_found);
  EXPECT_EQ(thrown_by([] { sim::restore_device("nope"); }), Status::not_found);
  sim::remove_device("pf1");
  EXPECT_EQ(thrown_by([] { sim::remove_device("pf1"); }), Status::not_found);
  sim::restore_device("pf1");
  sim::restore_device("pf1");
  EXPECT_EQ(find_device("pf1").name(), "pf1");
}

// ---- Representors

TEST_F(Devices, OfTheDpuListTheRepresentorsOfTheirPort) {
  EXPECT_THAT(names(Device::open(find_device("p0"))->representors()),
              UnorderedElementsAre("hpf0", "hpf0vf0", "hpf0vf1", "pf0sf0"));
  EXPECT_THAT(names(Device::open(find_device("p1"))->representors()),
              UnorderedElementsAre("hpf1", "hpf1vf0", "pf1sf0"));
}

TEST_F(Devices, ARepresentorHasItsFunctionsAddressAndVuid) {
  const DeviceInfo function = find_device("pf0vf1");
  const auto device = Device::open(find_device("p0"));
  const auto representor = device->open_representor("0b:00.3");
  EXPECT_EQ(representor->properties().pci_addr, function.pci_addr());
  EXPECT_EQ(representor->properties().vuid, function.properties().vuid);
  EXPECT_EQ(representor->properties().vhca_id, function.properties().vhca_id);
  EXPECT_EQ(representor->properties().func_type, PciFuncType::vf);
  EXPECT_TRUE(representor->is_equal_pci_addr("0000:0b:00.3"));
  EXPECT_EQ(representor->device(), device);
}

TEST_F(Devices, FilterRepresentors) {
  sim::Topology topology = sim::default_topology();
  topology.functions[2].is_emulated = true;
  sim::set_topology(topology);
  const auto device = Device::open(find_device("p0"));
  EXPECT_THAT(names(device->representors(RepFilter::emulated)), ElementsAre("hpf0vf0"));
  EXPECT_THAT(names(device->representors(RepFilter::net)), UnorderedElementsAre("hpf0", "hpf0vf1", "pf0sf0"));
  EXPECT_EQ(device->representors(RepFilter::all).size(), 4U);
  EXPECT_EQ(thrown_by([&] { device->representors(static_cast<RepFilter>(1)); }), Status::invalid_value);
}

TEST_F(Devices, WithoutTheCapabilityListNoRepresentors) {
  for (const char* const name : {"pf0", "pf0vf0", "p0s0"}) {
    const auto device = Device::open(find_device(name));
    EXPECT_EQ(thrown_by([&] { device->representors(); }), Status::not_supported) << name;
  }
  sim::Topology topology = sim::default_topology();
  topology.functions[5].properties.capabilities.rep_filter_emulated = false;
  sim::set_topology(topology);
  const auto device = Device::open(find_device("p0"));
  EXPECT_EQ(thrown_by([&] { device->representors(RepFilter::emulated); }), Status::not_supported);
  EXPECT_EQ(device->representors(RepFilter::net).size(), 4U);
}

TEST_F(Devices, ARemovedFunctionHasNoRepresentor) {
  const auto device = Device::open(find_device("p1"));
  sim::remove_device("pf1");
  EXPECT_THAT(names(device->representors()), UnorderedElementsAre("hpf1vf0", "pf1sf0"));
  EXPECT_EQ(thrown_by([&] { device->open_representor("0b:00.1"); }), Status::not_found);
}

TEST_F(Devices, AnUnknownRepresentorListsTheOthers) {
  const auto device = Device::open(find_device("p0"));
  EXPECT_EQ(thrown_by([&] { device->open_representor("0b:00.1"); }), Status::not_found);
  EXPECT_THAT(reason_of([&] { device->open_representor("0b:00.1"); }), HasSubstr("hpf0vf0 (0000:0b:00.2)"));
}

TEST_F(Devices, StayOpenUnderARepresentor) {
  const auto device = Device::open(find_device("p0"));
  const auto representor = device->open_representor("hpf0");
  EXPECT_EQ(thrown_by([&] { device->close(); }), Status::in_use);
  representor->add_user();
  EXPECT_EQ(thrown_by([&] { representor->close(); }), Status::in_use);
  representor->remove_user();
  representor->close();
  EXPECT_FALSE(representor->is_open());
  EXPECT_EQ(thrown_by([&] { representor->close(); }), Status::bad_state);
  EXPECT_EQ(thrown_by([&] { representor->device(); }), Status::bad_state);
  device->close();
  EXPECT_EQ(thrown_by([&] { device->representors(); }), Status::bad_state);
  EXPECT_EQ(thrown_by([&] { device->open_representor("hpf0"); }), Status::bad_state);
}

}  // namespace
}  // namespace pydoca
