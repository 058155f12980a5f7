#include "pydoca/faults.hpp"
#include "pydoca/sim.hpp"

#include "backend/sim/file/sim_file.hpp"
#include "fuzz/targets/sim_targets.hpp"

#include <algorithm>
#include <string>

namespace pydoca::fuzz {

namespace {

constexpr std::array<std::string_view, 4> texts{
    "profile = \"bluefield2\"\nhost_pci_addr = \"b1:00.0\"\n[timing]\nseed = 7\npreset = \"bluefield3\"\n",
    "[[function]]\nname = \"x\"\npci_addr = \"05:00.0\"\nside = 'dpu'\nfunc_type = \"sf\"\nmac_addr = "
    "\"02:aa:00:00:00:01\"\n"
    "ipv6_addr = \"fe80::7\"\ncapabilities = {dma = false, comch = {max_clients = 3}, rdma = {max_mtu = 1024}}\n",
    "dma = {latency = \"1.9us\", bandwidth = 25e9, jitter = {distribution = \"normal\", spread = \"50ns\"}, rate = "
    "'10M/s'}\n"
    "sha.queue_depth = 0x10\n[pcie]\nbandwidth = \"31.5GB/s\"\n[devices.p0]\npreset = \"ideal\"\n",
    "seed = 4\n[[rule]]\naction = \"delay\"\nopcode = [\"dma\", \"rdma.write\"]\nby = \"2 ms\"\nafter = 0.25\n"
    "[[rule]]\naction = \"misreport_capability\"\ncapabilities = {dma = {max_buf_size = 1}}\nday = 2026-01-31\n"};

/// Whether the call threw nothing. It may throw an Error with a message.
template <class Call>
bool succeeds(const Call& call) {
  try {
    call();
    return true;
  } catch (const Error& error) {
    require(error.status() == Status::invalid_value && error.what()[0] != '\0',
            "what does not fit is an invalid value");
    return false;
  }
}

}  // namespace

void run_file(std::span<const std::byte> input) {
  const std::string text(reinterpret_cast<const char*>(input.data()), input.size());
  Table table;
  if (!succeeds([&] { table = parse_toml(text); })) {
    return;
  }
  static_cast<void>(text_of(table));
  succeeds([&] { static_cast<void>(sim::read_topology(table)); });
  succeeds([&] { static_cast<void>(FaultPlan::load(table)); });
  sim::Config config;
  if (succeeds([&] { config = sim::read_config(table); })) {
    const Table written = sim::table_of(config);
    require(text_of(sim::table_of(sim::read_config(written))) == text_of(written), "what is written reads back");
  }
}

std::vector<Bytes> file_seeds() {
  std::vector<Bytes> seeds;
  for (const std::string_view text : texts) {
    const auto bytes = std::as_bytes(std::span(text));
    seeds.emplace_back(bytes.begin(), bytes.end());
  }
  return seeds;
}

}  // namespace pydoca::fuzz
