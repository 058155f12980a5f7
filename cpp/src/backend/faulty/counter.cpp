#include "backend/faulty/counter.hpp"

#include "backend/faulty/operation/data.hpp"

namespace pydoca::faulty {

template <class Update>
Status Counter::update(LinkOpcode opcode, std::uint64_t operand, Update apply) noexcept {
  const Fault fault = faults_.decide(opcode, sizeof operand);
  if (faults_.removed()) [[unlikely]] {
    return Status::driver;
  }
  if (fault.rule == nullptr) [[likely]] {
    failed_by_.store(0, std::memory_order_relaxed);
    return apply(operand);
  }
  const bool is_stale = fault.is(FaultAction::corrupt) && fault.rule->corruption == Corruption::stale;
  const bool fails = fault.is(FaultAction::fail);
  failed_by_.store(fails ? fault.text_number() : 0, std::memory_order_relaxed);
  if (fails) {
    failed_with_.store(fault.rule->status, std::memory_order_relaxed);
    return fault.rule->status;
  }
  if (fault.is(FaultAction::drop) || is_stale) {
    return Status::success;
  }
  std::uint64_t changed = operand;
  if (fault.is(FaultAction::corrupt) && !corrupt(changed, fault)) {
    faults_.note_impossible(fault, Spared::too_short);
  }
  const Status status = apply(changed);
  if (fault.is(FaultAction::duplicate) && status == Status::success) {
    static_cast<void>(apply(operand));
  }
  return status;
}

std::uint32_t Counter::failed_by(Status status) const noexcept {
  return failed_with_.load(std::memory_order_relaxed) == status ? failed_by_.load(std::memory_order_relaxed) : 0;
}

Status Counter::store(std::uint64_t value) noexcept {
  return update(LinkOpcode::sync_event_set, value, [this](std::uint64_t operand) { return inner_->store(operand); });
}

Status Counter::fetch_add(std::uint64_t increment, std::uint64_t& previous) noexcept {
  previous = inner_->load();
  bool again = false;
  return update(LinkOpcode::sync_event_add, increment, [&](std::uint64_t operand) {
    std::uint64_t ignored = 0;
    return inner_->fetch_add(operand, std::exchange(again, true) ? ignored : previous);
  });
}

void Counter::arm() noexcept {
  if (!faults_.decide(LinkOpcode::sync_event_wait, 0).is(FaultAction::lose_notification)) {
    inner_->arm();
  }
}

}  // namespace pydoca::faulty
