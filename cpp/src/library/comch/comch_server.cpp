#include "library/comch/comch_server.hpp"

#include "pydoca/backend/device.hpp"
#include "pydoca/device_properties.hpp"
#include "pydoca/log.hpp"
#include "pydoca/progress_engine.hpp"
#include "pydoca/representor.hpp"

#include "detail/concat.hpp"

#include <algorithm>
#include <iterator>
#include <sys/epoll.h>
#include <utility>

namespace pydoca::comch {

namespace {

using detail::concat;

std::shared_ptr<Representor> checked_representor(std::shared_ptr<Representor> representor, const Device& device) {
  if (!Server::is_supported(device.info())) {
    throw Error(Status::not_supported, concat("create comch.server: ", device.info().name(),
                                              " cannot be a server; use a physical function of the DPU"));
  }
  if (representor == nullptr) {
    throw Error(Status::invalid_value, "create comch.server: the representor is null");
  }
  if (representor->device().get() != &device) {
    throw Error(Status::invalid_value,
                concat("create comch.server: representor ", representor->properties().name, " was opened on ",
                       representor->device()->info().name(), ", not on ", device.info().name()));
  }
  return representor;
}

}  // namespace

bool Server::is_supported(const DeviceInfo& info) noexcept {
  return info.capabilities().comch && info.capabilities().comch->server;
}

std::shared_ptr<Server> Server::create(std::shared_ptr<Device> device, std::shared_ptr<Representor> representor,
                                       std::string_view name) {
  return detail::make_context<library::Server>(std::move(device), std::move(representor), name);
}

library::Server::Server(std::shared_ptr<Device> device, std::shared_ptr<Representor> representor, std::string_view name)
    : EndpointContext(std::move(device), name),
      representor_(checked_representor(std::move(representor), *this->device())) {
  representor_->add_user();
  uses_representor_ = true;
}

library::Server::~Server() {
  abandon();
  end();  // a forked child does it as well: a handle that outlives this must not point here
  release();
}

void library::Server::release() noexcept {
  if (std::exchange(uses_representor_, false)) {
    representor_->remove_user();
  }
}

void Server::set_connection_changed(ConnectionChanged connected, ConnectionChanged disconnected) {
  require_idle("set connection callbacks of");
  if (connected == nullptr || disconnected == nullptr) {
    throw Error(Status::invalid_value, "set connection callbacks: both must be given; they may be the same function");
  }
  library::of(*this).connected_ = connected;
  library::of(*this).disconnected_ = disconnected;
}

void Server::disconnect(Connection& connection) {
  if (state() != ContextState::running) {
    throw Error(Status::bad_state, concat("disconnect a client of \"", name(), "\": the server does not run"));
  }
  progress_engine()->require_thread(concat("disconnect a client of \"", name(), "\""));
  if (!connection.is_connected()) {
    throw Error(Status::not_connected, concat("disconnect a client of \"", name(), "\": it is not connected"));
  }
  if (connection.endpoint() != this) {
    throw Error(Status::invalid_value, concat("disconnect a client of \"", name(), "\": it is another context's"));
  }
  library::of(connection).begin_close(Status::shutdown);
}

std::vector<std::shared_ptr<Connection>> Server::connections() const {
  std::vector<std::shared_ptr<Connection>> connected;
  std::ranges::copy_if(library::of(*this).connections_, std::back_inserter(connected),
                       [](const std::shared_ptr<Connection>& connection) { return connection->is_connected(); });
  return connected;
}

const std::shared_ptr<Representor>& Server::representor() const noexcept { return library::of(*this).representor_; }

Status library::Server::begin() {
  begin_common();
  if (connected_ == nullptr) {
    throw Error(Status::invalid_value, concat("start comch.server \"", name(),
                                              "\": the connection callbacks are missing; call set_connection_changed"));
  }
  connections_.reserve(max_clients(device()->info()));
  listener_ = device()->backend().listen(representor_->properties(), name(), options_);
  progress_engine()->watch(listener_->fd(), EPOLLIN, *this);
  return Status::success;
}

void library::Server::stop_listening() noexcept {
  if (listener_ != nullptr) {
    progress_engine()->unwatch(listener_->fd());
    listener_.reset();
  }
}

void library::Server::quiesce() noexcept {
  stop_listening();
  std::erase_if(connections_, [](const std::shared_ptr<Connection>& connection) {
    connection->begin_close(Status::shutdown);
    const bool reported = connection->phase_ == Connection::Phase::closing;
    if (!reported) {
      connection->end(Connection::Phase::failed);
    }
    return !reported;
  });
}

void library::Server::end() noexcept {
  stop_listening();
  for (const auto& connection : connections_) {
    connection->end(Connection::Phase::closed);
  }
  connections_.clear();
  end_common();
}

bool library::Server::poll_peers(bool& more) noexcept {
  if (listener_ == nullptr) {
    return false;
  }
  const bool admit = connections_.size() < max_clients(device()->info());
  if (!admit && std::ranges::any_of(connections_, [](const auto& held) { return held->is_ending(); })) {
    return false;  // the listener's descriptor stays readable
  }
  std::unique_ptr<backend::Channel> channel = listener_->accept(admit);
  if (channel == nullptr) {
    return false;
  }
  more = true;
  if (!admit) {
    static_cast<void>(channel->establish());
    log::engine(log::Level::warning, kind(), [&] {
      return concat("\"", name(), "\" refused a client: it has ", connections_.size(), ", as many as it takes");
    });
  } else if (auto connection = Connection::create(*this, std::move(channel))) {
    connections_.push_back(std::move(connection));
  }
  return true;
}

void library::Server::established(Connection& connection) noexcept { connected_(connection, true, user_data()); }

void library::Server::lost(Connection& connection, Status status) noexcept {
  if (status != Status::connection_reset) {
    log::engine(log::Level::warning, kind(),
                [&] { return concat("\"", name(), "\" drops a client that broke the channel's rules: ", status); });
  }
  connection.begin_close(status);
}

void library::Server::unestablished(Connection& connection, Status status, std::string_view why) noexcept {
  log::engine(log::Level::warning, kind(),
              [&] { return concat("\"", name(), "\" refused a client: ", why.empty() ? error_descr(status) : why); });
  erase(connection);
  connected_(connection, false, user_data());
  connection.end(Connection::Phase::failed);
  detail::ContextTasks::settle(*this);
}

void library::Server::closed(Connection& connection) noexcept {
  erase(connection);
  disconnected_(connection, true, user_data());
  detail::ContextTasks::settle(*this);
}

void library::Server::silence() noexcept {
  EndpointContext::silence();
  connected_ = disconnected_ = [](comch::Connection&, bool, std::uint64_t) noexcept {};
}

void library::Server::erase(Connection& connection) noexcept {
  std::erase_if(connections_, [&](const std::shared_ptr<Connection>& held) { return held.get() == &connection; });
}

}  // namespace pydoca::comch
