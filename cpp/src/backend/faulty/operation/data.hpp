#pragma once

#include "pydoca/backend/queue.hpp"
#include "pydoca/backend/rdma.hpp"
#include "pydoca/segment.hpp"

#include "backend/faulty/plan/device_faults.hpp"
#include "backend/faulty/plan/plan.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

/// Where the data of operations is, and how it is changed.
namespace pydoca::faulty {

/// Whether it carries data to the peer.
bool sends(backend::RdmaOpcode opcode) noexcept;

/// The bytes that it reads on this side; null when it reads none.
const Segment* source_of(const backend::DataOperation& operation) noexcept;
const Segment* source_of(const backend::RdmaOperation& operation) noexcept;

/// It reads these bytes instead of its own source.
void set_source(backend::DataOperation& operation, Segment* source, std::uint64_t length) noexcept;
void set_source(backend::RdmaOperation& operation, Segment* source, std::uint64_t length) noexcept;

/// Whether data of this size has the byte that the rule changes.
bool has_place(const Fault& fault, std::uint64_t size) noexcept;
/// Changes the data as the rule says: a bit, or a byte. False when it has no such byte.
bool corrupt(std::span<std::byte> data, const Fault& fault) noexcept;
bool corrupt(std::uint64_t& value, const Fault& fault) noexcept;
/// The same with bytes that were put into the tailrooms of target, which has_place() found to be enough. False when
/// they are not memory of this process, or a mapped file that has been cut short.
bool corrupt_target(const Segment* target, std::uint64_t filled, const Fault& fault,
                    const DeviceFaults& device) noexcept;

/// Whether every byte of the list's data is memory of this process.
bool is_local(const Segment* source, std::uint64_t length, const DeviceFaults& device) noexcept;
/// Copies the first bytes of the list's data. The list is local, and has them. False when a mapped file has been cut
/// short.
bool gather(std::span<std::byte> to, const Segment* source) noexcept;

/// The length that a rule has an operation of this length report, or move.
std::uint64_t misreported(const Fault& fault, std::uint64_t length) noexcept;

}  // namespace pydoca::faulty
