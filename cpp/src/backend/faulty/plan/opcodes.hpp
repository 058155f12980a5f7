#pragma once

#include "pydoca/backend/engine.hpp"
#include "pydoca/backend/rdma.hpp"
#include "pydoca/device_properties.hpp"
#include "pydoca/faults.hpp"

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

/// The operations that a fault can meet: those of the engines, as their tables have them, then those of connections and
/// sync events.
namespace pydoca::faulty {

/// The opcodes that are not an engine's. RDMA's tasks have only their first one here; the others follow it by
/// RdmaTaskKind.
enum class LinkOpcode : std::uint8_t {
  rdma_task,
  rdma_connect = num_rdma_task_kinds,
  comch_send,
  comch_receive,
  comch_connect,
  sync_event_set,
  sync_event_add,
  sync_event_wait,
};
inline constexpr std::size_t num_link_opcodes = static_cast<std::size_t>(LinkOpcode::sync_event_wait) + 1;

/// An operation's number: its place in opcode_names().
enum class Opcode : std::uint8_t {};
inline constexpr std::size_t max_opcodes = backend::max_engine_opcodes + num_link_opcodes;
static_assert(max_opcodes <= 256, "an opcode has a byte");
using OpcodeSet = std::bitset<max_opcodes>;

Opcode number_of(LinkOpcode opcode) noexcept;
Opcode number_of(RdmaTaskKind task) noexcept;
/// The number of an engine's first operation; the others follow it.
Opcode first_of(const backend::EngineTraits& engine) noexcept;

/// "dma.memcpy": the library and the task.
std::span<const std::string> opcode_names() noexcept;
std::string_view name_of(Opcode opcode) noexcept;
/// Nothing when no operation has the name.
std::optional<Opcode> find_opcode(std::string_view name) noexcept;

/// What the action can meet.
const OpcodeSet& meetings(FaultAction action) noexcept;

/// Whether a device with these capabilities can be asked to do this.
bool can_do(const Capabilities& capabilities, Opcode opcode) noexcept;

}  // namespace pydoca::faulty
