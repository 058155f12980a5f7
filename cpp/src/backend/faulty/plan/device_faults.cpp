#include "backend/faulty/plan/device_faults.hpp"

#include "pydoca/device_properties.hpp"
#include "pydoca/log.hpp"

#include "backend/faulty/plan/alarm.hpp"
#include "detail/concat.hpp"
#include "detail/thread/thread_token.hpp"
#include "detail/time/time.hpp"

#include <algorithm>
#include <csignal>
#include <exception>
#include <unistd.h>
#include <utility>

namespace pydoca::faulty {

DeviceFaults::DeviceFaults(std::shared_ptr<Plan> plan, const DeviceProperties& properties, std::size_t ordinal)
    : plan_(std::move(plan)), installation_(plan_->installation()), properties_(properties), ordinal_(ordinal) {
  for (std::size_t number = 0; number < plan_->rules().size(); ++number) {
    for (std::size_t opcode = 0; opcode < opcode_names().size(); ++opcode) {
      if (names(plan_->rules()[number], properties) && selects(plan_->rules()[number], static_cast<Opcode>(opcode))) {
        rules_[opcode].push_back(number);
      }
    }
  }
  plan_->note_opened(properties);
}

Fault DeviceFaults::decide(Opcode opcode, std::uint64_t length) noexcept {
  const std::vector<std::size_t>& numbers = rules_[static_cast<std::size_t>(opcode)];
  if (numbers.empty() || plan_->installation() != installation_) {
    return {};
  }
  const FaultOperation operation{.opcode = name_of(opcode), .device = properties_.name, .length = length, .number = 0};
  const Fault fault = plan_->decide(numbers, operation);
  if (fault.rule == nullptr) {
    return {};
  }
  log::engine(log::Level::info, "faults", [&] {
    return detail::concat(describe(*fault.rule, fault.number), " meets ", name_of(opcode), " on ", properties_.name);
  });
  switch (fault.rule->action) {
    case FaultAction::kill:
      ::kill(::getpid(), SIGKILL);
      for (;;) {
        ::pause();
      }
    case FaultAction::freeze:
      ::kill(::getpid(), SIGSTOP);
      return {};
    case FaultAction::remove_device:
      remove();
      return {};
    case FaultAction::link_down:
      break_link(*fault.rule);
      return {};
    default:
      return fault;
  }
}

bool DeviceFaults::has(FaultAction action) const noexcept {
  return std::ranges::any_of(plan_->rules(),
                             [&](const FaultRule& rule) { return rule.action == action && names(rule, properties_); });
}

bool DeviceFaults::link_is_down() const noexcept {
  const std::uint64_t up_at = link_up_at();
  return up_at != 0 && detail::now() < up_at && plan_->is_in_force();
}

void DeviceFaults::require_link(const char* what) const {
  if (link_is_down()) {
    throw Error(Status::connection_aborted,
                detail::concat(what, ": the link of ", properties_.name, " is down (a fault plan's link_down)"));
  }
}

void DeviceFaults::remove() noexcept {
  if (removed_.exchange(true, std::memory_order_acq_rel)) {
    return;
  }
  try {
    plan_->note_removed(properties_);
  } catch (const std::exception& error) {
    log::engine(log::Level::error, "faults", error.what());
  }
  tell();
}

void DeviceFaults::break_link(const FaultRule& rule) noexcept {
  const auto time = static_cast<std::uint64_t>(rule.by.count());
  link_up_at_.store(time == 0 ? detail::never : detail::now() + time, std::memory_order_release);
  link_breaks_.fetch_add(1, std::memory_order_acq_rel);
  tell();
}

void DeviceFaults::tell() noexcept {
  const std::lock_guard lock(mutex_);
  for (const auto& [notifier, forks] : notifiers_) {
    if (forks == detail::fork_count()) {
      notifier->notify_from_any_thread();
    }
  }
  for (const auto& [alarm, forks] : alarms_) {
    if (forks == detail::fork_count()) {
      alarm->ring();
    }
  }
}

void DeviceFaults::watch(backend::Notifier& notifier) {
  const std::lock_guard lock(mutex_);
  notifiers_.push_back({&notifier, detail::fork_count()});
  if (removed()) {
    notifier.notify_from_any_thread();
  }
}

void DeviceFaults::unwatch(backend::Notifier& notifier) noexcept {
  const std::lock_guard lock(mutex_);
  std::erase_if(notifiers_, [&](const auto& watcher) { return watcher.watcher == &notifier; });
}

void DeviceFaults::watch(Alarm& alarm) {
  const std::lock_guard lock(mutex_);
  alarms_.push_back({&alarm, detail::fork_count()});
}

void DeviceFaults::unwatch(Alarm& alarm) noexcept {
  const std::lock_guard lock(mutex_);
  std::erase_if(alarms_, [&](const auto& watcher) { return watcher.watcher == &alarm; });
}

/// A region may get the place of one that was destroyed.
void DeviceFaults::note_region(const backend::MemoryRegion& region, bool imported) {
  const std::lock_guard lock(mutex_);
  if (imported) {
    imported_.insert(&region);
  } else {
    imported_.erase(&region);
  }
}

bool DeviceFaults::is_local(const Segment& segment) const noexcept {
  const backend::MemoryRegion* const region = segment.regions != nullptr ? segment.regions[ordinal_] : nullptr;
  const std::lock_guard lock(mutex_);
  return region != nullptr && !imported_.contains(region);
}

}  // namespace pydoca::faulty
