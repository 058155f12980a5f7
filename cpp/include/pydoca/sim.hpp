#pragma once

#include "pydoca/device_properties.hpp"
#include "pydoca/sim_timing.hpp"
#include "pydoca/types.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Controls of the simulated fabric.
namespace pydoca::sim {

/// One simulated function. parent names the DPU function whose representor list holds it (host functions and SFs).
struct Function {
  DeviceProperties properties;
  std::string parent;
  std::string representor;  ///< name of its representor; empty: none
  bool is_emulated = false;
  bool is_hotplug = false;
};

struct Topology {
  std::vector<Function> functions;
};

/// Cards of one kind, numbered from first. Card 7 has the host's functions card7-pf0, card7-pf1 (0007:0b:00.0 and .1)
/// and VFs (0007:0b:01.0 ...) card7-pf0vf0, ..., and on the DPU card7-p0, card7-p1 (0007:03:00.0 and .1) with SFs
/// card7-p0s0, ...; the representors on the DPU are hpf0, hpf0vf0, pf0sf0, ...
struct Cards {
  /// Of that profile. Throws invalid_value, listing the profiles.
  explicit Cards(std::string_view profile = "bluefield3");

  std::uint32_t count = 1;      ///< 1..65536
  std::uint32_t first = 0;      ///< a card's number, which is its PCI domain, too, is at most 65535
  std::string name = "card{}";  ///< of a card, before its functions' names; {} is its number, {:03} with three digits
  std::string serial = "SIM{:05}";  ///< the serial number of a card, with which the VUIDs of its functions begin
  std::uint32_t ports = 2;          ///< physical functions of each side: 1 or 2
  std::uint32_t vfs = 0;            ///< of each of the host's physical functions, 0..120
  std::uint32_t sfs = 0;            ///< of each of the DPU's, 0..1000
  Function host;                    ///< what the host's functions have beside names, addresses and numbers
  Function dpu;                     ///< the same for the DPU's
};

/// Appends the cards' functions. Throws invalid_value for numbers out of their ranges, for a pattern that has another
/// form, or that gives one name to several cards.
void add_cards(Topology& topology, const Cards& cards);

/// The DOCA Core guide's machine: host functions pf0 0b:00.0, pf1 0b:00.1, pf0vf0 0b:00.2, pf0vf1 0b:00.3, pf1vf0
/// 0b:00.4; on the DPU p0 03:00.0 and p1 03:00.1 with SFs p0s0 and p1s0. Representors of
/// p0: hpf0, hpf0vf0, hpf0vf1, pf0sf0; of p1: hpf1, hpf1vf0, pf1sf0.
Topology default_topology(std::string_view profile = "bluefield3");
/// "bluefield2" or "bluefield3": the engines and limits of a function of that card on that side. Throws invalid_value,
/// listing the profiles.
Capabilities profile_capabilities(std::string_view profile, Side side);
std::vector<std::string_view> profiles();

/// Replaces the topology of this process; devices that are open stay as they are. Throws invalid_value for duplicate
/// names or addresses, a bad PCI address or an unknown parent.
void set_topology(Topology topology);
/// Good until the next set_topology().
const Topology& topology();

/// The fabric that this process joins: PYDOCA_FABRIC, else "default". Processes in one fabric see one another.
/// Processes of different containers share the directory that PYDOCA_FABRIC_DIR names.
/// 1..64 characters of [A-Za-z0-9._-] (invalid_value). Affects devices opened later.
void set_fabric(std::string_view name);
std::string fabric();
/// The directory in which the processes of that fabric meet, whether it exists or not. PYDOCA_FABRIC_DIR, else
/// XDG_RUNTIME_DIR, else /tmp leads to it: processes that differ in these never see one another. Throws invalid_value
/// or not_permitted when PYDOCA_FABRIC_DIR does not name a directory that only this user can write to.
std::string fabric_directory();

/// Surprise removal, in this process: the function leaves enumerations, and operations of open devices fail from now
/// on. selector: a name, or a PCI address, which is that of no SF. Throws not_found.
void remove_device(std::string_view selector);
/// Brings it back for later openings. Throws not_found.
void restore_device(std::string_view selector);

}  // namespace pydoca::sim
