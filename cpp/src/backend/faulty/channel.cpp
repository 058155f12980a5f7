#include "backend/faulty/channel.hpp"

#include "backend/faulty/operation/data.hpp"
#include "detail/time/time.hpp"

#include <algorithm>
#include <exception>
#include <utility>

namespace pydoca::faulty {

namespace {

/// Nanoseconds from a rule's full queue to the next attempt: there is room below, so nothing else would tell.
constexpr std::uint64_t full_for = 10'000;

int fd_of(const std::optional<LinkAlarm>& alarm, int inner) noexcept {
  return alarm.has_value() ? const_cast<LinkAlarm&>(*alarm)->fd() : inner;
}

std::unique_ptr<backend::Channel> wrapped(std::unique_ptr<backend::Channel> inner, DeviceFaults& faults) noexcept {
  if (inner == nullptr) {
    return nullptr;
  }
  try {
    return std::make_unique<Channel>(std::move(inner), faults);
  } catch (const std::exception&) {
    return nullptr;  // a backend without memory for it does the same: the peer notices that it is gone
  }
}

}  // namespace

Channel::Channel(std::unique_ptr<backend::Channel> inner, DeviceFaults& faults)
    : inner_(std::move(inner)), faults_(faults), link_breaks_(faults.link_breaks()) {
  if (faults.has(FaultAction::delay) || faults.has(FaultAction::link_down) || faults.has(FaultAction::full) ||
      faults.has(FaultAction::duplicate)) {
    alarm_.emplace(inner_->fd(), faults);
  }
}

int Channel::fd() const noexcept { return fd_of(alarm_, inner_->fd()); }

Status Channel::establish() noexcept {
  if (!connect_fault_.has_value()) {
    connect_fault_ = faults_.decide(LinkOpcode::comch_connect, 0);
  }
  if (connect_fault_->is(FaultAction::fail)) {
    return connect_fault_->rule->status;
  }
  return is_cut() ? Status::connection_reset : inner_->establish();
}

std::string_view Channel::refusal() const noexcept {
  const bool failed = connect_fault_.has_value() && connect_fault_->is(FaultAction::fail);
  return failed ? "a fault plan has it fail" : inner_->refusal();
}

Status Channel::send(std::span<const std::byte> message) noexcept {
  const bool is_new = !unsent_.has_value();
  const Fault fault =
      is_new ? faults_.decide(LinkOpcode::comch_send, message.size()) : *std::exchange(unsent_, std::nullopt);
  failed_by_ = 0;
  if (is_cut() || faults_.removed()) {
    inner_->skip();
    return faults_.removed() ? Status::driver : Status::connection_reset;
  }
  Status status = Status::again;
  if (!hold_back(fault, is_new)) {
    send_second();
    status = has_second_ ? Status::again : send_now(message, fault);
  }
  if (status == Status::again && !fault.is(FaultAction::full)) {
    unsent_ = fault;
  }
  const bool is_full = status == Status::again && fault.is(FaultAction::full);
  again_due_ = is_full ? detail::now() + full_for : 0;
  if (alarm_.has_value()) {
    (*alarm_)->expect_room(status == Status::again && !is_held_back() && !is_full);
    set_alarm();
  }
  return status;
}

bool Channel::hold_back(const Fault& fault, bool is_new) noexcept {
  const std::uint64_t now = detail::now();
  if (is_new && fault.is(FaultAction::delay)) {
    unsent_due_ = now + static_cast<std::uint64_t>(fault.rule->by.count());
  }
  if (unsent_due_ <= now) {
    unsent_due_ = 0;
  }
  return is_held_back();
}

Status Channel::send_now(std::span<const std::byte> message, const Fault& fault) noexcept {
  try {
    return fault.rule == nullptr ? inner_->send(message) : send_faulty(message, fault);
  } catch (const std::bad_alloc&) {
    return inner_->send(message);
  }
}

/// The device may not take it at once, as it may not take any message.
void Channel::send_second() noexcept { has_second_ = has_second_ && inner_->send(second_) == Status::again; }

/// Ends what the alarm has rung for, and sets it to what comes next.
void Channel::set_alarm() noexcept {
  (*alarm_)->calm();
  std::uint64_t next = is_held_back() ? unsent_due_ : (again_due_ != 0 ? again_due_ : detail::never);
  if (!waiting_.empty()) {
    next = std::min(next, waiting_.front().due);
  }
  if (next != detail::never) {
    (*alarm_)->set(next);
  }
}

bool Channel::expect(bool messages, bool room) noexcept {
  if (inner_->expect(messages, room)) {
    return true;
  }
  if (alarm_.has_value()) {
    (*alarm_)->expect_messages(messages);
  }
  return alarm_.has_value();
}

void Channel::note_short(const Fault& fault, bool changes) noexcept {
  if (!changes) {
    faults_.note_impossible(fault, Spared::too_short);
  }
}

Status Channel::send_faulty(std::span<const std::byte> message, const Fault& fault) {
  switch (fault.rule->action) {
    case FaultAction::full:
      return Status::again;
    case FaultAction::fail:
      inner_->skip();
      failed_by_ = fault.text_number();
      return fault.rule->status;
    case FaultAction::drop:
      inner_->skip();
      return Status::success;
    case FaultAction::misreport_length: {
      const std::uint64_t length = misreported(fault, message.size());
      const Status status = inner_->send(message.first(length));
      note_short(fault, status != Status::success || length != message.size());
      return status;
    }
    case FaultAction::corrupt: {
      std::vector<std::byte> changed(message.begin(), message.end());
      const bool changes = corrupt(changed, fault);
      const Status status = inner_->send(changed);
      note_short(fault, status != Status::success || changes);
      return status;
    }
    default: {
      const Status status = inner_->send(message);
      if (fault.is(FaultAction::duplicate) && status == Status::success) {
        second_.assign(message.begin(), message.end());
        has_second_ = true;
        send_second();
      }
      return status;
    }
  }
}

Status Channel::receive(std::span<std::byte> buffer, std::size_t& length) noexcept {
  if (alarm_.has_value()) {
    set_alarm();
  }
  if (is_cut()) {
    return Status::connection_reset;
  }
  send_second();
  try {
    return take_waiting(buffer, length) ? Status::success : receive_inner(buffer, length);
  } catch (const std::bad_alloc&) {
    return Status::success;  // the fault is left out
  }
}

bool Channel::take_waiting(std::span<std::byte> buffer, std::size_t& length) noexcept {
  if (waiting_.empty()) {
    return false;
  }
  const Waiting& first = waiting_.front();
  if (first.due > detail::now()) {
    if (alarm_.has_value()) {
      set_alarm();
    }
    return false;
  }
  std::ranges::copy(first.message, buffer.begin());
  length = first.message.size();
  waiting_.pop_front();
  return true;
}

Status Channel::receive_inner(std::span<std::byte> buffer, std::size_t& length) {
  for (;;) {
    Status status = inner_->receive(buffer, length);
    if (status != Status::success) {
      return status;
    }
    for (Waiting& waiting : waiting_) {
      waiting.due = waiting.due == detail::never ? 0 : waiting.due;
    }
    const Fault fault = faults_.decide(LinkOpcode::comch_receive, length);
    if (is_cut()) {
      return Status::connection_reset;
    }
    if (fault.rule != nullptr) {
      status = receive_faulty(buffer.first(length), length, fault);
    }
    if (status == Status::success && !waiting_.empty() && !fault.is(FaultAction::duplicate)) {
      waiting_.push_back({{buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(length)}, 0});
      status = Status::again;
    }
    if (status != Status::again || take_waiting(buffer, length)) {
      return status == Status::again ? Status::success : status;
    }
  }
}

/// again: the message is not to be delivered now.
Status Channel::receive_faulty(std::span<std::byte> message, std::size_t& length, const Fault& fault) {
  const auto keep = [&](std::uint64_t due) { waiting_.push_back({{message.begin(), message.end()}, due}); };
  switch (fault.rule->action) {
    case FaultAction::fail:
      return fault.rule->status;
    case FaultAction::drop:
      return Status::again;
    case FaultAction::delay:
      keep(detail::now() + static_cast<std::uint64_t>(fault.rule->by.count()));
      return Status::again;
    case FaultAction::lose_notification:
      keep(detail::never);
      return Status::again;
    case FaultAction::duplicate:
      keep(0);
      if (waiting_.size() == 1) {
        return Status::success;
      }
      keep(0);
      return Status::again;
    case FaultAction::corrupt:
      note_short(fault, corrupt(message, fault));
      return Status::success;
    case FaultAction::misreport_length:
      length = misreported(fault, length);
      note_short(fault, length != message.size());
      return Status::success;
    default:
      return Status::success;
  }
}

std::unique_ptr<backend::Channel> Listener::accept(bool admit) noexcept {
  std::unique_ptr<backend::Channel> channel = wrapped(inner_->accept(admit), faults_);
  return faults_.link_is_down() ? nullptr : std::move(channel);
}

Dialer::Dialer(std::unique_ptr<backend::Dialer> inner, DeviceFaults& faults)
    : inner_(std::move(inner)), faults_(faults) {
  if (faults.has(FaultAction::link_down)) {
    alarm_.emplace(inner_->fd(), faults);
  }
}

int Dialer::fd() const noexcept { return fd_of(alarm_, inner_->fd()); }

std::unique_ptr<backend::Channel> Dialer::attempt() noexcept {
  if (alarm_.has_value()) {
    (*alarm_)->calm();
  }
  if (faults_.link_is_down()) {
    (*alarm_)->set(faults_.link_up_at());
    return nullptr;
  }
  return wrapped(inner_->attempt(), faults_);
}

}  // namespace pydoca::faulty
