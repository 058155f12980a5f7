#include "comch/server_object.hpp"

#include <pydoca/log.hpp>

#include "call/raw_method.hpp"
#include "convert/convert.hpp"
#include "device/device_object.hpp"
#include "memory/mmap_object.hpp"

#include <algorithm>
#include <utility>

namespace pydoca::bindings {

std::shared_ptr<comch::Server> ServerObject::create(const py::object& device, const py::object& representor,
                                                    std::string_view name) {
  const auto& clients_side = argument_of<RepresentorObject>(representor.ptr(), "a pydoca.Representor");
  auto server = comch::Server::create(to_device(device).get(), clients_side.get(), name);
  server->set_connection_changed(connected, disconnected);
  server->set_message_received(ConnectionObject::message_received);
  return server;
}

ServerObject::ServerObject(py::object engine, const py::object& device, py::object representor, std::string_view name,
                           const py::kwargs& given)
    : EndpointObject(std::move(engine), device, create(device, representor, name), given),
      representor_(std::move(representor)) {}

py::list ServerObject::connections() const {
  py::list connected;
  for (const py::object& connection : connections_) {
    if (connection.cast<ConnectionObject&>().is_connected()) connected.append(connection);
  }
  return connected;
}

py::object ServerObject::accept(bool iterating) {
  if (!is_connected() || (!iterating && context().state() != ContextState::running)) {
    raise(Status::bad_state, "accept (" + describe() + "): " + context().explain_not_running());
  }
  return NextOf<ServerObject>::make(self(), *this, iterating);
}

void ServerObject::disconnect(comch::Connection& connection) {
  // stop() has disconnected every client.
  if (context().state() == ContextState::running) {
    static_cast<comch::Server&>(context()).disconnect(connection);
  }
}

void ServerObject::connected(comch::Connection& connection, bool successful, std::uint64_t context_user_data) noexcept {
  auto& self = of<ServerObject>(context_user_data);
  self.guard([&] {
    try {
      self.add(connection, successful);
    } catch (const std::bad_alloc&) {
      self.disconnect(connection);  // a client that no program sees would stay
      throw;
    }
  });
}

void ServerObject::add(comch::Connection& connection, bool successful) {
  const py::object object = ConnectionObject::make(self(), connection);
  if (successful) {
    connections_.push_back(object);
    unaccepted_.push_back(object);
    acceptors_.wake(engine(), available());
  }
  tell_connected(object, successful);
  if (!successful) {
    object.cast<ConnectionObject&>().end();
    object.cast<ConnectionObject&>().forget_endpoint();
  }
}

void ServerObject::disconnected(comch::Connection& connection, bool successful,
                                std::uint64_t context_user_data) noexcept {
  auto& self = of<ServerObject>(context_user_data);
  ConnectionObject* const link = ConnectionObject::of(connection);
  if (link == nullptr) {
    return;
  }
  self.guard([&] {
    const py::object object = link->self();
    self.remove(*link);
    self.tell_disconnected(object, successful);
    link->forget_endpoint();
  });
}

void ServerObject::remove(ConnectionObject& connection) {
  const py::object object = connection.self();
  connection.end();
  std::erase_if(connections_, [&](const py::object& other) { return other.is(object); });
  forget_unaccepted(connection);
}

/// Drops an ended connection without messages. Keeps those with messages, up to a limit.
void ServerObject::forget_unaccepted(ConnectionObject& ended) {
  const py::object object = ended.self();
  if (!ended.has_messages()) {
    std::erase_if(unaccepted_, [&](const py::object& other) { return other.is(object); });
  }
  const std::size_t limit = comch::Endpoint::max_clients(context().device()->info());
  const auto has_ended = [](const py::object& other) { return !other.cast<ConnectionObject&>().is_connected(); };
  const auto oldest = std::ranges::find_if(unaccepted_, has_ended);
  if (unaccepted_.size() > limit && oldest != unaccepted_.end()) {
    log::engine(log::Level::warning, context().kind(), [&] {
      return "\"" + endpoint().name() + "\" drops a client's last messages: no code accepts its connections";
    });
    unaccepted_.erase(oldest);
  }
}

std::size_t ServerObject::available() const noexcept {
  return context().state() == ContextState::running ? unaccepted_.size() : WaitingLine::unlimited;
}

void ServerObject::state_entered(ContextState state) {
  if (state == ContextState::stopping || state == ContextState::idle) {
    const std::deque<py::object> unaccepted = std::exchange(unaccepted_, {});
    acceptors_.wake(engine(), available());
    for (const py::object& connection : connections_) connection.cast<ConnectionObject&>().wake_receivers();
  }
}

void ServerObject::each_reference(References& references) {
  references.keep(representor_);
  references.drop_all(connections_);
  references.drop_all(unaccepted_);
  EndpointObject::each_reference(references);
}

void ServerObject::raise_end() const { raise(Status::shutdown, "accept (" + describe() + "): the server has stopped"); }

}  // namespace pydoca::bindings
