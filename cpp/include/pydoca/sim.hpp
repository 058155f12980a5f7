#pragma once

#include "pydoca/device_properties.hpp"
#include "pydoca/sim_timing.hpp"
#include "pydoca/types.hpp"
#include "pydoca/value.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#pragma GCC visibility push(default)

/// Controls of the simulated fabric.
namespace pydoca::sim {

/// One simulated function. parent names the DPU function whose representor list holds it (host functions and SFs).
struct Function {
  DeviceProperties properties;
  std::string parent;
  std::string representor;  ///< name of its representor; empty: none
  bool is_emulated = false;
  bool is_hotplug = false;

  /// Those beside the properties.
  static constexpr auto fields() noexcept {
    using T = Function;
    return std::tuple{Field{"parent", &T::parent, "The DPU's function whose representor list has it."},
                      Field{"representor", &T::representor, "The name of its representor."},
                      Field{"is_emulated", &T::is_emulated, "Whether the DPU emulates it in software."},
                      Field{"is_hotplug", &T::is_hotplug, "Whether it was plugged in while the machine was running."}};
  }
};

struct Topology {
  std::vector<Function> functions;
};

/// Cards of one kind, numbered from first. Card 7 has the host's functions card7-pf0, card7-pf1 (0007:0b:00.0 and .1)
/// and VFs (0007:0b:01.0 ...) card7-pf0vf0, ..., and on the DPU card7-p0, card7-p1 (0007:03:00.0 and .1) with SFs
/// card7-p0s0, ...; the representors on the DPU are hpf0, hpf0vf0, pf0sf0, ...
struct Cards {
  /// Cards of that profile. Throws invalid_value, listing the profiles.
  explicit Cards(std::string_view profile = "bluefield3");

  std::uint32_t count = 1;      ///< 1..65536
  std::uint32_t first = 0;      ///< a card's number, which is also its PCI domain, is at most 65535
  std::string name = "card{}";  ///< a card's, before its functions' names; {} is its number, {:03} with three digits
  std::string serial = "SIM{:05}";  ///< the serial number of a card, with which the VUIDs of its functions begin
  std::uint32_t ports = 2;          ///< physical functions of each side: 1 or 2
  std::uint32_t vfs = 0;            ///< functions that each of the host's physical functions has, 0..120
  std::uint32_t sfs = 0;            ///< functions that each of the DPU's has, 0..1000
  Function host;                    ///< what the host's functions have beside names, addresses and numbers
  Function dpu;                     ///< the same for the DPU's

  /// The numbers and texts.
  static constexpr auto fields() noexcept {
    using T = Cards;
    return std::tuple{Field{"count", &T::count, "How many there are."},
                      Field{"first", &T::first, "The number of the first one."},
                      Field{"name", &T::name, "The name of each."},
                      Field{"serial", &T::serial, "The serial number of each."},
                      Field{"ports", &T::ports, "The physical functions of each side."},
                      Field{"vfs", &T::vfs, "The VFs of each of the host's physical functions."},
                      Field{"sfs", &T::sfs, "The SFs of each of the DPU's physical functions."}};
  }
};

/// Appends the cards' functions. Throws invalid_value for numbers out of their ranges, for a pattern that has another
/// form, or that gives one name to several cards.
void add_cards(Topology& topology, const Cards& cards);

/// The DOCA Core guide's machine: host functions pf0 0b:00.0, pf1 0b:00.1, pf0vf0 0b:00.2, pf0vf1 0b:00.3, pf1vf0
/// 0b:00.4; on the DPU p0 03:00.0 and p1 03:00.1 with SFs p0s0 and p1s0. Representors on p0: hpf0, hpf0vf0, hpf0vf1,
/// pf0sf0; on p1: hpf1, hpf1vf0, pf1sf0. host_pci_addr: the address of pf0; in other chapters of the guide it is
/// b1:00.0. Throws invalid_value for an unknown profile, and for an address that is not a card's first.
Topology default_topology(std::string_view profile = "bluefield3", std::string_view host_pci_addr = "0b:00.0");
/// "bluefield2", "bluefield3", or "all", a card that has every engine: the engines and limits of a function of that
/// card on that side. Throws invalid_value, listing the profiles.
Capabilities profile_capabilities(std::string_view profile, Side side);
std::vector<std::string_view> profiles();

/// Replaces the topology of this process; devices that are open stay as they are. Throws invalid_value for duplicate
/// names or addresses, a bad PCI address or an unknown parent.
void set_topology(Topology topology);
/// Good until the next one is set or loaded.
const Topology& topology();

/// Replaces the topology by that of a table, or of a file of TOML, in the form that the reference of pydoca.sim gives.
/// The table [timing] in it replaces the configuration as well. All of it comes into force, or nothing. Throws
/// invalid_value for keys and values that do not fit, and what read_toml() throws; messages about a file begin with its
/// name.
void load_topology(const Table& table);
void load_topology(const std::string& path);
/// Replaces the configuration by that of a table, or of a file of TOML with the table [timing]. Throws as
/// load_topology() does.
void load_config(const Table& table);
void load_config(const std::string& path);

// Until the program sets or loads a topology, the environment's PYDOCA_TOPOLOGY names the file of one, or
// PYDOCA_PROFILE the profile of the default one; until it sets or loads a configuration, PYDOCA_TIMING names the file
// of one. They come into force at the first look at devices, or at what this header and sim_timing.hpp ask of them.
// What does not fit is thrown there, as invalid_value that names the variable.

/// What load_topology() in another process makes this machine of; nothing where neither the program nor the environment
/// has chosen another than the default. Throws not_supported when the topology was set, not loaded.
std::optional<Table> loaded_machine();

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

#pragma GCC visibility pop
