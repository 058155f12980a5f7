#include "pydoca/comch.hpp"

#include "pydoca/device_properties.hpp"

#include "core/task_pool.hpp"
#include "detail/concat.hpp"
#include "library/comch/comch_connection.hpp"
#include "library/comch/comch_connection_owner.hpp"
#include "library/limits.hpp"

#include <algorithm>

namespace pydoca::comch {

namespace {

using detail::concat;

const ComchCapabilities& capabilities(const DeviceInfo& info) {
  if (!info.capabilities().comch) {
    throw Error(Status::not_supported, concat("comch: ", info.name(), " has no communication channel"));
  }
  return *info.capabilities().comch;
}

std::string checked_name(const DeviceInfo& info, std::string_view name) {
  const std::uint32_t limit = capabilities(info).max_name_len;
  if (name.empty() || name.size() >= limit || name.find('\0') != std::string_view::npos) {
    // The name up to a NUL: a message ends there.
    throw Error(Status::invalid_value,
                concat("comch: the name \"", name.substr(0, name.find('\0')), "\": it has ", name.size(),
                       " bytes; it must have 1..", limit - 1, " and no NUL (max_name_len counts the one at the end)"));
  }
  return std::string(name);
}

void require_in_range(std::string_view what, std::uint32_t value, std::uint32_t limit) {
  if (value == 0 || value > limit) {
    throw Error(Status::invalid_value, concat(what, ": ", value, " is not in 1..", limit));
  }
}

/// value: the message's bytes.
std::string message_length(const detail::Violation& violation, const DeviceInfo& /*device*/) {
  return detail::concat("the message has ", detail::limits::bytes(violation.value), "; this connection takes up to ",
                        violation.allowed, " (", violation.setting, ")");
}

}  // namespace

library::SendTask::SendTask(Endpoint& endpoint, detail::TaskPool& pool, std::size_t /*kind*/) noexcept
    : comch::SendTask(endpoint, pool) {}

Status SendTask::set_message(std::span<const std::byte> message) noexcept {
  if (state() == State::submitted) {
    return Status::in_use;
  }
  if (connection_ == nullptr || message.size() > connection_->max_msg_size()) {
    return Status::invalid_value;
  }
  message_ = message;
  return Status::success;
}

bool library::SendTask::breaks_limit(detail::Violation* why) const noexcept {
  const std::uint32_t most = connection_->max_msg_size();
  return message_.size() > most &&
         detail::broken(
             why, {.limit = message_length, .setting = "max_msg_size", .value = message_.size(), .allowed = most});
}

std::string library::SendTask::explain(Status status) const {
  if (failed_by_ != 0 && status == outcome_) {
    return detail::explain_fault(failed_by_);
  }
  switch (status) {
    case Status::connection_reset:
      return "the other side has closed the connection, or is gone";
    case Status::shutdown:
      return "this side closed the connection before the message was on its way";
    default:
      return Task::explain(status);
  }
}

void library::SendTask::keep(ConnectionOwner& owner) noexcept {
  if (place_ == nullptr) {
    place_ = owner.take_place();
  }
  std::ranges::copy(message_, place_);
}

Status library::SendTask::post(bool /*flush*/) noexcept { return of(*connection_).send(*this); }

void library::SendTask::finish(Status /*status*/) noexcept {
  if (counted_) {
    counted_ = false;
    of(*connection_).task_done();
  }
}

std::uint32_t Endpoint::max_name_len(const DeviceInfo& info) { return capabilities(info).max_name_len; }
std::uint32_t Endpoint::max_msg_size(const DeviceInfo& info) { return capabilities(info).max_msg_size; }
std::uint32_t Endpoint::max_recv_queue_size(const DeviceInfo& info) { return capabilities(info).max_recv_queue_size; }
std::uint32_t Endpoint::max_clients(const DeviceInfo& info) { return capabilities(info).max_clients; }
std::uint32_t Endpoint::max_send_tasks(const DeviceInfo& info) { return capabilities(info).max_send_tasks; }

library::ConnectionOwner::ConnectionOwner(comch::Endpoint& endpoint, std::string_view name)
    : endpoint_(endpoint), name_(checked_name(endpoint.device()->info(), name)) {
  const ComchCapabilities& limits = capabilities(endpoint.device()->info());
  options_ = {.max_msg_size = limits.max_msg_size,
              .recv_queue_size = std::min(Endpoint::default_recv_queue_size, limits.max_recv_queue_size)};
}

const std::string& Endpoint::name() const noexcept { return own_->name_; }
std::uint32_t Endpoint::max_msg_size() const noexcept { return own_->options_.max_msg_size; }
std::uint32_t Endpoint::recv_queue_size() const noexcept { return own_->options_.recv_queue_size; }

void Endpoint::set_send_conf(TaskCallback<SendTask> on_success, TaskCallback<SendTask> on_error,
                             std::uint32_t num_tasks) {
  detail::ContextTasks::configure(*this, 0, "set send conf", on_success, on_error, num_tasks,
                                  max_send_tasks(device()->info()));
}

std::uint32_t Endpoint::num_send_tasks() const noexcept { return detail::ContextTasks::pool(*this, 0).num_tasks(); }

void Endpoint::set_message_received(MessageReceived callback) {
  require_idle("set message callback of");
  if (callback == nullptr) {
    throw Error(Status::invalid_value, "set message callback: it must not be null");
  }
  own_->message_received_ = callback;
}

void Endpoint::set_max_msg_size(std::uint32_t bytes) {
  require_idle("set maximum message size of");
  require_in_range("set maximum message size", bytes, max_msg_size(device()->info()));
  own_->options_.max_msg_size = bytes;
}

void Endpoint::set_recv_queue_size(std::uint32_t messages) {
  require_idle("set receive queue size of");
  require_in_range("set receive queue size", messages, max_recv_queue_size(device()->info()));
  own_->options_.recv_queue_size = messages;
}

Status Endpoint::send(Connection& connection, std::span<const std::byte> message, std::uint64_t user_data,
                      SendTask*& task) noexcept {
  if (state() != ContextState::running) {
    return Status::bad_state;
  }
  if (!connection.is_connected()) {
    return Status::not_connected;
  }
  if (connection.endpoint() != this || message.size() > connection.max_msg_size()) {
    return Status::invalid_value;
  }
  const Status status = detail::ContextTasks::take(*this, 0, user_data, task);
  if (status == Status::success) [[likely]] {
    library::of(*task).connection_ = connection.shared_from_this();
    library::of(*task).message_ = message;
  }
  return status;
}

void library::ConnectionOwner::require_settings(bool has_tasks) const {
  const auto require = [this](bool given, std::string_view what, std::string_view call) {
    if (!given) {
      throw Error(Status::invalid_value,
                  concat("start ", endpoint_.kind(), " \"", name_, "\": ", what, " is missing; ", call));
    }
  };
  require(has_tasks, "the send task's configuration", "call set_send_conf");
  require(message_received_ != nullptr, "the message callback", "call set_message_received");
}

/// The system provides the pages of the places that messages use.
void library::ConnectionOwner::open_messages(std::uint32_t num_tasks) {
  const std::size_t message = options_.max_msg_size;
  buffer_ = std::make_unique<std::byte[]>(message + 1);
  places_ = std::make_unique_for_overwrite<std::byte[]>(num_tasks * message);
  next_place_ = places_.get();
}

void library::ConnectionOwner::close_messages() noexcept {
  buffer_.reset();
  places_.reset();
}

}  // namespace pydoca::comch
