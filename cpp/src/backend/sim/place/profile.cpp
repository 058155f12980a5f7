#include "backend/sim/place/profile.hpp"

#include "pydoca/device_properties.hpp"
#include "pydoca/sim.hpp"

#include "backend/sim/work/data_engine.hpp"
#include "detail/concat.hpp"
#include "detail/text/enumerators.hpp"

#include <algorithm>
#include <array>

namespace pydoca::sim {

namespace {

struct Profile {
  std::string_view name;
  Generation card;
  std::uint32_t max_comch_clients;
  bool async_wait;
  std::uint32_t dpa_threads;  // 0: no DPA
};

constexpr std::array<Profile, 3> known_profiles{{{"bluefield2", Generation::bluefield2, 512, false, 0},
                                                 {"bluefield3", Generation::bluefield3, 2048, true, 256},
                                                 {"all", Generation::all, 2048, true, 256}}};

const Profile& find_profile(std::string_view name) {
  const auto* const found = std::ranges::find(known_profiles, name, &Profile::name);
  if (found == known_profiles.end()) {
    throw Error(Status::invalid_value,
                detail::concat("\"", name, "\" is not a profile; there are: ", detail::listed(profiles())));
  }
  return *found;
}

/// The reasons of a card: its two sides differ, and so do its generations.
Refusals refusals_of(Side side, const Profile& profile) {
  Refusals refusals;
  if (side == Side::dpu) {
    refusals.comch_client = "only functions of the host are clients";
    refusals.mmap_export_pci = "only functions of the host export memory over PCIe";
  } else {
    refusals.comch_server = "only functions of the DPU are servers";
    refusals.mmap_create_from_export_pci = "only functions of the DPU import memory over PCIe";
  }
  refusals.representors = "only physical functions of the DPU have representors";
  if (!profile.async_wait) {
    refusals.async_wait = "asynchronous waits need a BlueField-3, a ConnectX-7 or newer";
  }
  if (profile.dpa_threads == 0) {
    refusals.dpa = "only a BlueField-3 or newer has a DPA";
  }
  return refusals;
}

/// The clocks of every function: each has one oscillator, which the DPA's timer also counts.
ClockCapabilities clock_capabilities(bool has_dpa) {
  return {.nic_free_running = true,
          .nic_real_time = true,
          .nic_dpa_timer = has_dpa,
          .free_running_frequency = 1'000'000'000};
}

RdmaCapabilities rdma_capabilities() {
  return {.max_send_queue_size = 32768,
          .max_recv_queue_size = 32768,
          .max_send_buf_list_len = 32,
          .max_recv_buf_list_len = 32,
          .max_message_size = std::uint32_t{1} << 30,
          .max_num_connections = 1024,
          .max_mtu = MtuSize::bytes_4096,
          .gid_table_size = 255,
          .gids = {Gid{}},
          .no_opcode = {},
          .no_connection_manager = {},
          .no_dynamically_connected = "the simulator connects by RC only"};
}

}  // namespace

std::vector<std::string_view> profiles() {
  std::vector<std::string_view> names;
  for (const Profile& profile : known_profiles) {
    names.push_back(profile.name);
  }
  return names;
}

Capabilities profile_capabilities(std::string_view name, Side side) {
  detail::require_one_of("profile", side, Side::dpu, "side");
  const Profile& profile = find_profile(name);
  const bool dpu = side == Side::dpu;
  Capabilities capabilities;
  capabilities.refusals = refusals_of(side, profile);
  for (const DataEngine* const engine : data_engines()) {
    engine->equip(capabilities, profile.card, side);
  }
  capabilities.comch = {.server = dpu,
                        .client = !dpu,
                        .max_name_len = 120,
                        .max_msg_size = 4080,
                        .max_recv_queue_size = 8192,
                        .max_clients = profile.max_comch_clients,
                        .max_send_tasks = 8192};
  capabilities.clock = clock_capabilities(profile.dpa_threads != 0);
  if (profile.dpa_threads != 0) {
    capabilities.dpa = {.max_num_threads = profile.dpa_threads};
  }
  capabilities.mmap_export_pci = !dpu;
  capabilities.mmap_create_from_export_pci = dpu;
  capabilities.rep_filter_all = capabilities.rep_filter_net = capabilities.rep_filter_emulated = dpu;
  capabilities.sync_event = {.export_to_remote_pci = true,
                             .create_from_export = true,
                             .export_to_remote_net = true,
                             .remote_net_create_from_export = true,
                             .export_to_dpa = profile.dpa_threads != 0,
                             .async_wait = profile.async_wait,
                             .max_num_tasks = 65536};
  capabilities.mmap_export_rdma = true;
  capabilities.rdma = rdma_capabilities();
  return capabilities;
}

Capabilities function_capabilities(std::string_view profile, Side side, PciFuncType type) {
  Capabilities capabilities = profile_capabilities(profile, side);
  if (type != PciFuncType::pf) {
    capabilities.rep_filter_all = capabilities.rep_filter_net = capabilities.rep_filter_emulated = false;
  }
  return capabilities;
}

std::uint64_t profile_rate(std::string_view profile) noexcept {
  return profile == "bluefield2" ? 200'000'000'000 : 400'000'000'000;
}

}  // namespace pydoca::sim
