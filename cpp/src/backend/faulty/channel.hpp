#pragma once

#include "pydoca/backend/channel.hpp"

#include "backend/faulty/plan/alarm.hpp"
#include "backend/faulty/plan/device_faults.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pydoca::faulty {

/// An alarm that rings when the device's link breaks or the device is removed.
class LinkAlarm {
 public:
  LinkAlarm(int inner, DeviceFaults& faults) : alarm_(inner), faults_(faults) { faults_.watch(alarm_); }
  ~LinkAlarm() { faults_.unwatch(alarm_); }
  LinkAlarm(const LinkAlarm&) = delete;
  LinkAlarm& operator=(const LinkAlarm&) = delete;
  Alarm* operator->() noexcept { return &alarm_; }

 private:
  Alarm alarm_;
  DeviceFaults& faults_;
};

/// A stream of messages with the faults of its device. A message that waits keeps its place: those behind it also wait.
class Channel final : public backend::Channel {
 public:
  Channel(std::unique_ptr<backend::Channel> inner, DeviceFaults& faults);

  int fd() const noexcept override;
  Status establish() noexcept override;
  std::string_view refusal() const noexcept override;
  Status send(std::span<const std::byte> message) noexcept override;
  std::uint32_t failed_by() const noexcept override { return failed_by_; }
  bool announce(std::size_t length) noexcept override { return is_held_back() || inner_->announce(length); }
  void skip() noexcept override { inner_->skip(); }
  bool expect(bool messages, bool room) noexcept override;
  Status receive(std::span<std::byte> buffer, std::size_t& length) noexcept override;
  bool may_advance_elsewhere(Cpus here) noexcept override { return inner_->may_advance_elsewhere(here); }
  std::uint32_t max_msg_size() const noexcept override { return inner_->max_msg_size(); }
  std::uint64_t id() const noexcept override { return inner_->id(); }

 private:
  struct Waiting {
    std::vector<std::byte> message;
    std::uint64_t due = 0;  ///< a time of detail::now(); never: until the next message comes
  };

  bool is_held_back() const noexcept { return unsent_due_ != 0; }
  /// Whether a rule delays a message, and the time is not over; called again and again.
  bool hold_back(const Fault& fault, bool is_new) noexcept;
  Status send_now(std::span<const std::byte> message, const Fault& fault) noexcept;
  void send_second() noexcept;
  void set_alarm() noexcept;
  bool is_cut() const noexcept { return faults_.link_breaks() != link_breaks_; }
  /// Where the fault changed nothing of a message: it has too few bytes.
  void note_short(const Fault& fault, bool changes) noexcept;
  Status send_faulty(std::span<const std::byte> message, const Fault& fault);
  /// Whether the message, of length bytes, is to be delivered now.
  Status receive_faulty(std::span<std::byte> message, std::size_t& length, const Fault& fault);
  bool take_waiting(std::span<std::byte> buffer, std::size_t& length) noexcept;
  Status receive_inner(std::span<std::byte> buffer, std::size_t& length);

  const std::unique_ptr<backend::Channel> inner_;
  DeviceFaults& faults_;
  const std::uint32_t link_breaks_;
  std::optional<LinkAlarm> alarm_;  ///< where a rule can wake it
  std::deque<Waiting> waiting_;
  std::optional<Fault> unsent_;    ///< meets a message that the device did not take yet
  std::uint64_t unsent_due_ = 0;   ///< when that message is due, if it is delayed
  std::uint64_t again_due_ = 0;    ///< when a message is to be tried again that met a full queue
  std::vector<std::byte> second_;  ///< a duplicate that the device did not take yet
  bool has_second_ = false;
  std::uint32_t failed_by_ = 0;
  std::optional<Fault> connect_fault_;
};

class Listener final : public backend::Listener {
 public:
  Listener(std::unique_ptr<backend::Listener> inner, DeviceFaults& faults) noexcept
      : inner_(std::move(inner)), faults_(faults) {}
  int fd() const noexcept override { return inner_->fd(); }
  std::unique_ptr<backend::Channel> accept(bool admit) noexcept override;

 private:
  const std::unique_ptr<backend::Listener> inner_;
  DeviceFaults& faults_;
};

class Dialer final : public backend::Dialer {
 public:
  Dialer(std::unique_ptr<backend::Dialer> inner, DeviceFaults& faults);
  int fd() const noexcept override;
  std::unique_ptr<backend::Channel> attempt() noexcept override;
  std::string where() const override { return inner_->where(); }

 private:
  const std::unique_ptr<backend::Dialer> inner_;
  DeviceFaults& faults_;
  std::optional<LinkAlarm> alarm_;
};

}  // namespace pydoca::faulty
