#include "pydoca/comch.hpp"

#include "pydoca/log.hpp"

#include "core/task_pool.hpp"
#include "core/violation.hpp"
#include "detail/concat.hpp"

#include <algorithm>
#include <exception>

namespace pydoca::comch {

namespace {

using detail::concat;

const backend::ComchCapabilities& capabilities(const DeviceInfo& info) {
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

}  // namespace

SendTask::SendTask(Endpoint& endpoint, detail::TaskPool& pool, std::size_t /*kind*/) noexcept : Task(endpoint, pool) {}

Endpoint& SendTask::endpoint() const noexcept { return static_cast<Endpoint&>(context()); }

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

detail::Limit SendTask::check(detail::Violation* why) const noexcept {
  const std::uint32_t limit = connection_->max_msg_size();
  return message_.size() <= limit ? detail::Limit::none
                                  : detail::broken(why, {.limit = detail::Limit::message_length,
                                                         .setting = "max_msg_size",
                                                         .value = message_.size(),
                                                         .allowed = limit});
}

std::string SendTask::explain(Status status) const {
  switch (status) {
    case Status::connection_reset:
      return "the other side has closed the connection, or is gone";
    case Status::shutdown:
      return "this side closed the connection before the message was on its way";
    default:
      return Task::explain(status);
  }
}

Status SendTask::post(bool /*flush*/) noexcept {
  connection_->send(*this);
  return Status::success;
}

void SendTask::finish(Status /*status*/) noexcept {
  if (counted_) {
    counted_ = false;
    connection_->task_done();
  }
}

void SendQueue::push(SendTask& task) noexcept {
  task.next_ = nullptr;
  (tail_ != nullptr ? tail_->next_ : head_) = &task;
  tail_ = &task;
}

SendTask* SendQueue::pop() noexcept {
  SendTask* task = head_;
  if (task != nullptr) {
    head_ = task->next_;
    tail_ = head_ != nullptr ? tail_ : nullptr;
  }
  return task;
}

std::uint32_t Endpoint::max_name_len(const DeviceInfo& info) { return capabilities(info).max_name_len; }
std::uint32_t Endpoint::max_msg_size(const DeviceInfo& info) { return capabilities(info).max_msg_size; }
std::uint32_t Endpoint::max_recv_queue_size(const DeviceInfo& info) { return capabilities(info).max_recv_queue_size; }
std::uint32_t Endpoint::max_clients(const DeviceInfo& info) { return capabilities(info).max_clients; }
std::uint32_t Endpoint::max_send_tasks(const DeviceInfo& info) { return capabilities(info).max_send_tasks; }

Endpoint::Endpoint(std::shared_ptr<Device> device, std::string_view name)
    : Context(std::move(device), 1), name_(checked_name(this->device()->info(), name)) {
  const backend::ComchCapabilities& limits = capabilities(this->device()->info());
  options_ = {.max_msg_size = limits.max_msg_size,
              .recv_queue_size = std::min(default_recv_queue_size, limits.max_recv_queue_size)};
}

Endpoint::~Endpoint() = default;

void Endpoint::set_send_conf(Task::Callback on_success, Task::Callback on_error, std::uint32_t num_tasks) {
  require_idle("set send conf of");
  pool(0).configure("set send conf", on_success, on_error, num_tasks, max_send_tasks(device()->info()));
}

void Endpoint::set_message_received(MessageReceived callback) {
  require_idle("set message callback of");
  if (callback == nullptr) {
    throw Error(Status::invalid_value, "set message callback: it must not be null");
  }
  message_received_ = callback;
}

void Endpoint::set_max_msg_size(std::uint32_t bytes) {
  require_idle("set maximum message size of");
  require_in_range("set maximum message size", bytes, max_msg_size(device()->info()));
  options_.max_msg_size = bytes;
}

void Endpoint::set_recv_queue_size(std::uint32_t messages) {
  require_idle("set receive queue size of");
  require_in_range("set receive queue size", messages, max_recv_queue_size(device()->info()));
  options_.recv_queue_size = messages;
}

Status Endpoint::send(Connection& connection, std::span<const std::byte> message, std::uint64_t user_data,
                      SendTask*& task) noexcept {
  if (state() != ContextState::running) {
    return Status::bad_state;
  }
  if (!connection.is_connected()) {
    return Status::not_connected;
  }
  if (connection.endpoint_ != this || message.size() > connection.max_msg_size()) {
    return Status::invalid_value;
  }
  const Status status = take(0, user_data, task);
  if (status == Status::success) [[likely]] {
    task->connection_ = connection.shared_from_this();
    task->message_ = message;
  }
  return status;
}

void Endpoint::begin_common() {
  const auto require = [this](bool given, std::string_view what, std::string_view call) {
    if (!given) {
      throw Error(Status::invalid_value, concat("start ", kind(), " \"", name_, "\": ", what, " is missing; ", call));
    }
  };
  require(open_pools<SendTask>(*this) != 0, "the send task's configuration", "call set_send_conf");
  require(message_received_ != nullptr, "the message callback", "call set_message_received");
  buffer_ = std::make_unique<std::byte[]>(options_.max_msg_size);
}

void Endpoint::end_common() noexcept {
  done_.clear();
  close_pools();
  buffer_.reset();
}

bool Endpoint::poll_one(bool& more) noexcept {
  SendTask* task = done_.pop();
  if (task == nullptr) {
    return stop_if_removed() || poll_peers(more);
  }
  more = true;
  complete(*task, task->outcome_, task->outcome_ == Status::driver);
  return true;
}

/// Who only waits for messages hears of it, too.
bool Endpoint::stop_if_removed() noexcept {
  if (!device()->removed() || (state() != ContextState::running && state() != ContextState::starting)) [[likely]] {
    return false;
  }
  fail(Status::driver);
  return true;
}

std::shared_ptr<Connection> Endpoint::connect(std::unique_ptr<backend::Channel> channel) noexcept {
  try {
    const std::shared_ptr<Connection> connection(new Connection(*this, std::move(channel)));
    connection->open();
    return connection;
  } catch (const std::exception& error) {
    log::engine(log::Level::error, kind(), error.what());
    return nullptr;
  }
}

void Endpoint::done(SendTask& task, Status status) noexcept {
  task.outcome_ = status;
  done_.push(task);
  notify();
}

}  // namespace pydoca::comch
