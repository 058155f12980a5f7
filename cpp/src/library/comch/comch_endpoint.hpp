#pragma once

#include "pydoca/comch.hpp"

#include "core/task_pool.hpp"
#include "library/comch/comch_connection.hpp"
#include "library/comch/comch_connection_owner.hpp"
#include "library/library_context.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

namespace pydoca::comch::library {

/// What a server and a client have in common. Noun is Server or Client.
template <class Noun>
class EndpointContext : public detail::LibraryContext<Noun>, public ConnectionOwner {
 protected:
  EndpointContext(std::shared_ptr<Device> device, std::string_view name)
      : detail::LibraryContext<Noun>(std::move(device), std::size_t{1}), ConnectionOwner(*this, name) {
    this->own_ = this;
  }

  void begin_common() {
    require_settings(detail::ContextTasks::open<SendTask>(endpoint_) != 0);
    options_.send_queue_size = endpoint_.num_send_tasks();
    open_messages(endpoint_.num_send_tasks());
  }
  void end_common() noexcept {
    done_.clear();
    detail::ContextTasks::close(*this);
    close_messages();
  }
  virtual bool poll_peers(bool& more) noexcept = 0;
  void silence() noexcept override {
    detail::LibraryContext<Noun>::silence();
    message_received_ = [](comch::Connection&, std::span<const std::byte>, std::uint64_t) noexcept {};
  }

 private:
  void done(SendTask& task, Status status) noexcept final {
    task.outcome_ = status;
    done_.push(task);
    this->notify();
  }
  std::string_view task_name(std::size_t /*kind*/) const noexcept final { return "send"; }
  bool poll_one(bool& more) noexcept final {
    SendTask* const task = done_.pop();
    if (task == nullptr) {
      return stop_if_removed() || poll_peers(more);
    }
    this->complete(*task, task->outcome_, task->outcome_ == Status::driver);
    more = has_more();
    return true;
  }
  /// Peers announce themselves by descriptors again and again: looking for them after each completion would cost a
  /// system call.
  bool has_more() const noexcept {
    return !done_.empty() || this->state() != ContextState::running || this->device()->removed();
  }
  /// A program that only waits for messages also learns of the removal.
  bool stop_if_removed() noexcept {
    const bool live = this->state() == ContextState::running || this->state() == ContextState::starting;
    if (!this->device()->removed() || !live) [[likely]] {
      return false;
    }
    this->fail(Status::driver, "the device was removed; open it again when it is back");
    return true;
  }

  SendQueue done_;
};

}  // namespace pydoca::comch::library
