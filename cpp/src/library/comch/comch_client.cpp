#include "library/comch/comch_client.hpp"

#include "pydoca/backend/device.hpp"
#include "pydoca/device_properties.hpp"
#include "pydoca/log.hpp"
#include "pydoca/progress_engine.hpp"

#include "detail/concat.hpp"
#include "detail/time/time.hpp"

#include <algorithm>
#include <sys/epoll.h>
#include <utility>

namespace pydoca::comch {

namespace {

using detail::concat;

/// The part of a server's reason that is kept, in memory that is there by then.
constexpr std::size_t max_refusal = 255;
/// A client that has waited so long for its server says so.
constexpr std::chrono::seconds unremarkable_wait{1};

std::uint64_t in_nanoseconds(std::chrono::nanoseconds time) noexcept {
  return static_cast<std::uint64_t>(time.count());
}

}  // namespace

bool Client::is_supported(const DeviceInfo& info) noexcept {
  return info.capabilities().comch && info.capabilities().comch->client;
}

std::shared_ptr<Client> Client::create(std::shared_ptr<Device> device, std::string_view name) {
  return detail::make_context<library::Client>(std::move(device), name);
}

library::Client::Client(std::shared_ptr<Device> device, std::string_view name)
    : EndpointContext(std::move(device), name) {
  if (!is_supported(this->device()->info())) {
    throw Error(Status::not_supported, concat("create comch.client: ", this->device()->info().name(),
                                              " cannot be a client; use a function of the host"));
  }
}

library::Client::~Client() {
  abandon();
  end();  // a forked child does it as well: a handle that outlives this must not point here
}

const std::shared_ptr<Connection>& Client::connection() const {
  if (state() != ContextState::running) {
    throw Error(Status::bad_state, concat("connection of comch.client \"", name(), "\": the client does not run"));
  }
  return library::of(*this).connection_;
}

void Client::set_timeout(std::chrono::milliseconds timeout) {
  require_idle("set timeout of");
  if (timeout < std::chrono::milliseconds::zero()) {
    throw Error(Status::invalid_value, concat("comch.client \"", name(), "\": the timeout ", timeout.count(),
                                              " ms is negative; 0 stands for no limit"));
  }
  static_cast<library::Client&>(*this).timeout_ = timeout;
}

std::chrono::milliseconds Client::timeout() const noexcept { return library::of(*this).timeout_; }

const std::string& Client::refusal() const noexcept { return library::of(*this).refusal_; }

Status library::Client::begin() {
  begin_common();
  refusal_.clear();
  refusal_.reserve(max_refusal);
  begin_waiting();
  try {
    dialer_ = device()->backend().dial(name(), options_);
    where_ = dialer_->where();
  } catch (...) {
    end_waiting();
    throw;
  }
  notify();
  return Status::in_progress;
}

void library::Client::quiesce() noexcept {
  end_waiting();
  unwatch_dialer();
  dialer_.reset();
  if (connection_ == nullptr) {
    return;
  }
  of(*connection_).begin_close(Status::shutdown);
  if (of(*connection_).phase_ == Connection::Phase::establishing) {
    of(*connection_).end(Connection::Phase::failed);
    connection_.reset();
  }
}

void library::Client::end() noexcept {
  end_waiting();
  unwatch_dialer();
  dialer_.reset();
  if (connection_ != nullptr) {
    of(*connection_).end(Connection::Phase::closed);
    connection_.reset();
  }
  end_common();
}

bool library::Client::poll_peers(bool& more) noexcept {
  if (dialer_ == nullptr || has_waited_too_long() || connection_ != nullptr) {
    return false;
  }
  std::unique_ptr<backend::Channel> channel = dialer_->attempt();
  if (channel == nullptr) {
    watch_dialer();
    return false;
  }
  unwatch_dialer();
  connection_ = Connection::create(*this, std::move(channel));
  if (connection_ == nullptr) {
    fail(Status::no_memory);
  }
  more = true;
  return true;
}

void library::Client::established(Connection& /*connection*/) noexcept {
  end_waiting();
  dialer_.reset();
  started();
}

void library::Client::lost(Connection& connection, Status status) noexcept {
  log::engine(log::Level::info, kind(), [&] { return concat("the server of \"", name(), "\" is gone: ", status); });
  connection.begin_close(status);
  fail(status, "the server is gone");
}

void library::Client::unestablished(Connection& connection, Status status, std::string_view why) noexcept {
  connection.end(Connection::Phase::failed);
  connection_.reset();
  if (status != Status::connection_reset) {
    refusal_ = why.substr(0, max_refusal);
    log::engine(log::Level::error, kind(), [&] {
      return concat("the server of \"", name(), "\" refused this client: ", status, ": ",
                    why.empty() ? error_descr(status) : why);
    });
    fail(status, why);
  } else if (dialer_->fd() >= 0) {
    watch_dialer();  // the server has gone; the next one will say when it is there
  } else {
    notify();
  }
}

void library::Client::closed(Connection& /*connection*/) noexcept {
  connection_.reset();
  detail::ContextTasks::settle(*this);
}

void library::Client::begin_waiting() {
  told_ = false;
  const std::uint64_t now = detail::now();
  deadline_ = timeout_.count() == 0 ? detail::never : now + in_nanoseconds(timeout_);
  auto timer = std::make_unique<detail::Timer>();
  if (!*timer) {
    throw Error(Status::operating_system, concat("start comch.client \"", name(), "\": no descriptor is left"));
  }
  progress_engine()->watch(timer->fd(), EPOLLIN, *this);
  timer_ = std::move(timer);
  timer_->set(due_ = std::min(now + in_nanoseconds(unremarkable_wait), deadline_));
}

void library::Client::end_waiting() noexcept {
  if (timer_) {
    progress_engine()->unwatch(timer_->fd());
    timer_.reset();
  }
}

bool library::Client::has_waited_too_long() noexcept {
  const std::uint64_t now = detail::now();
  if (!timer_ || now < due_) {
    return false;
  }
  if (now >= deadline_) {
    end_waiting();
    fail(Status::time_out, where_);
    return true;
  }
  if (!std::exchange(told_, true)) {
    log::engine(log::Level::warning, kind(), [&] {
      return concat("\"", name(), "\": still waiting for a server of this name, for the function ",
                    device()->info().name(), ", ", where_);
    });
  }
  timer_->set(due_ = deadline_);
  return false;
}

void library::Client::watch_dialer() noexcept {
  if (dialer_watched_) {
    return;
  }
  try {
    progress_engine()->watch(dialer_->fd(), EPOLLIN, *this);
    dialer_watched_ = true;
  } catch (const Error& error) {
    log::engine(log::Level::error, kind(), error.what());
    fail(error.status(), error.what());
  } catch (const std::exception& error) {
    fail(Status::no_memory, error.what());
  }
}

void library::Client::unwatch_dialer() noexcept {
  if (dialer_watched_) {
    progress_engine()->unwatch(dialer_->fd());
    dialer_watched_ = false;
  }
}

}  // namespace pydoca::comch
