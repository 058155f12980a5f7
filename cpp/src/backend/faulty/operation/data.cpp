#include "backend/faulty/operation/data.hpp"

#include "detail/system/guarded_copy.hpp"

#include <algorithm>

namespace pydoca::faulty {

using backend::DataOperation;
using backend::RdmaOpcode;
using backend::RdmaOperation;

namespace {

std::byte* at(std::uint64_t address) noexcept { return reinterpret_cast<std::byte*>(address); }

/// The place of the one byte that the rule changes, of data of this size, which has it.
std::uint64_t place_of(const Fault& fault, std::uint64_t size) noexcept {
  if (fault.rule->offset.has_value()) {
    return *fault.rule->offset;
  }
  return fault.rule->corruption == Corruption::bit ? fault.random % size : 0;
}

std::byte changed(std::byte old, const Fault& fault) noexcept {
  return fault.rule->corruption == Corruption::bit ? old ^ (std::byte{1} << ((fault.random >> 32U) % 8))
                                                   : std::byte{fault.rule->value};
}

}  // namespace

bool sends(RdmaOpcode opcode) noexcept {
  return opcode == RdmaOpcode::send || opcode == RdmaOpcode::send_imm || opcode == RdmaOpcode::write ||
         opcode == RdmaOpcode::write_imm;
}

const Segment* source_of(const DataOperation& operation) noexcept { return operation.source; }
const Segment* source_of(const RdmaOperation& operation) noexcept {
  return sends(operation.opcode) ? operation.local : nullptr;
}

void set_source(DataOperation& operation, Segment* source, std::uint64_t length) noexcept {
  operation.source = source;
  operation.length = length;
}
void set_source(RdmaOperation& operation, Segment* source, std::uint64_t length) noexcept {
  operation.local = source;
  operation.length = length;
}

bool has_place(const Fault& fault, std::uint64_t size) noexcept { return fault.rule->offset.value_or(0) < size; }

bool corrupt(std::span<std::byte> data, const Fault& fault) noexcept {
  if (!has_place(fault, data.size())) {
    return false;
  }
  std::byte& victim = data[place_of(fault, data.size())];
  victim = changed(victim, fault);
  return true;
}

bool corrupt(std::uint64_t& value, const Fault& fault) noexcept {
  return corrupt(std::as_writable_bytes(std::span(&value, 1)), fault);
}

bool corrupt_target(const Segment* target, std::uint64_t filled, const Fault& fault,
                    const DeviceFaults& device) noexcept {
  std::uint64_t place = place_of(fault, filled);
  while (target != nullptr && place >= target->tailroom()) {
    place -= target->tailroom();
    target = target->next;
  }
  if (target == nullptr || !device.is_local(*target)) {
    return false;
  }
  std::byte* const victim = at(target->tail() + place);
  std::byte value{};
  if (!detail::copy_guarded(&value, victim, 1)) {
    return false;
  }
  value = changed(value, fault);
  return detail::copy_guarded(victim, &value, 1);
}

bool is_local(const Segment* source, std::uint64_t length, const DeviceFaults& device) noexcept {
  std::uint64_t seen = 0;
  for (; source != nullptr && seen < length; source = source->next) {
    if (!device.is_local(*source)) {
      return false;
    }
    seen += source->data_len;
  }
  return seen >= length;
}

bool gather(std::span<std::byte> to, const Segment* source) noexcept {
  for (; source != nullptr && !to.empty(); source = source->next) {
    const std::size_t size = std::min<std::size_t>(to.size(), source->data_len);
    if (!detail::copy_guarded(to.data(), at(source->data), size)) {
      return false;
    }
    to = to.subspan(size);
  }
  return true;
}

std::uint64_t misreported(const Fault& fault, std::uint64_t length) noexcept {
  return std::min(length, fault.rule->length.value_or(length / 2));
}

}  // namespace pydoca::faulty
