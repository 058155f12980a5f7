#pragma once

#include "pydoca/backend/channel.hpp"

#include "backend/sim/place/place.hpp"
#include "backend/sim/time/due_ring.hpp"
#include "backend/sim/time/function_model.hpp"
#include "detail/fd.hpp"
#include "detail/time/time.hpp"
#include "detail/time/timer.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace pydoca::sim {

/// What the channels of one endpoint have in common: the model of their messages.
struct ChannelModel {
  std::shared_ptr<FunctionModel> model;
  Side side;
  std::uint32_t depth;  ///< messages of one channel whose time runs
};

/// A channel whose messages take their time: another channel has each of them once it is due, so the peer sees it then
/// and not before.
class ModelledChannel final : public backend::Channel {
 public:
  /// Throws operating_system, std::bad_alloc.
  ModelledChannel(std::unique_ptr<backend::Channel> inner, ChannelModel model);

  int fd() const noexcept override { return inner_->fd() < 0 ? inner_->fd() : all_.get(); }
  Status establish() noexcept override { return inner_->establish(); }
  std::string_view refusal() const noexcept override { return inner_->refusal(); }
  Status send(std::span<const std::byte> message) noexcept override;
  bool announce(std::size_t length) noexcept override;
  void skip() noexcept override;
  bool expect(bool messages, bool room) noexcept override;
  Status receive(std::span<std::byte> buffer, std::size_t& length) noexcept override {
    return inner_->receive(buffer, length);
  }
  bool may_advance_elsewhere(Cpus here) noexcept override { return inner_->may_advance_elsewhere(here); }
  std::uint32_t max_msg_size() const noexcept override { return inner_->max_msg_size(); }
  std::uint64_t id() const noexcept override { return inner_->id(); }

 private:
  std::uint64_t due_of(std::size_t length) noexcept;
  void set_timer() noexcept;
  void watch_inner() noexcept;

  const ChannelModel model_;
  Random random_;
  DueRing due_;
  std::uint64_t last_due_ = 0;
  const std::unique_ptr<backend::Channel> inner_;
  detail::Timer timer_;
  detail::Fd all_;                        ///< an epoll set of the other channel's descriptor and the timer
  std::uint64_t set_to_ = detail::never;  ///< the timer
  bool lacks_room_ = false;               ///< the other channel answered again
  bool expects_messages_ = true;
  std::uint32_t inner_events_ = 0;  ///< events that the set watches the other channel for
};

class ModelledListener final : public backend::Listener {
 public:
  ModelledListener(std::unique_ptr<backend::Listener> inner, ChannelModel model) noexcept
      : inner_(std::move(inner)), model_(std::move(model)) {}
  int fd() const noexcept override { return inner_->fd(); }
  std::unique_ptr<backend::Channel> accept(bool admit) noexcept override;

 private:
  const std::unique_ptr<backend::Listener> inner_;
  const ChannelModel model_;
};

class ModelledDialer final : public backend::Dialer {
 public:
  ModelledDialer(std::unique_ptr<backend::Dialer> inner, ChannelModel model) noexcept
      : inner_(std::move(inner)), model_(std::move(model)) {}
  int fd() const noexcept override { return inner_->fd(); }
  std::unique_ptr<backend::Channel> attempt() noexcept override;
  std::string where() const override { return inner_->where(); }

 private:
  const std::unique_ptr<backend::Dialer> inner_;
  const ChannelModel model_;
};

}  // namespace pydoca::sim
