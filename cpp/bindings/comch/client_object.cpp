#include "comch/client_object.hpp"

#include "comch/connection_object.hpp"
#include "convert/convert.hpp"
#include "memory/mmap_object.hpp"

#include <utility>

namespace pydoca::bindings {

std::shared_ptr<comch::Client> ClientObject::create(const py::object& device, std::string_view name) {
  auto client = comch::Client::create(to_device(device).get(), name);
  client->set_message_received(ConnectionObject::message_received);
  return client;
}

ClientObject::ClientObject(py::object engine, const py::object& device, std::string_view name, const py::kwargs& given)
    : EndpointObject(std::move(engine), device, create(device, name), given) {}

py::object ClientObject::connection() const {
  static_cast<void>(client().connection());
  return connection_;
}

void ClientObject::disconnect(comch::Connection& /*connection*/) { stop(); }

py::object ClientObject::entered() {
  if (!connection_.is_none()) {
    return connection_;
  }
  const Status failure = client().failure();
  if (failure == Status::success) {
    raise(Status::shutdown, "start " + describe() + ": it was stopped before it was connected");
  }
  const std::string& refusal = client().refusal();
  raise(failure, "start " + describe() + ": " + (refusal.empty() ? std::string(error_descr(failure)) : refusal));
}

void ClientObject::state_entered(ContextState state) {
  if (state == ContextState::starting) {
    connection_ = py::none();
  } else if (state == ContextState::running) {
    connection_ = py::cast(std::make_unique<ConnectionObject>(self(), *client().connection()));
  } else if (!connection_.is_none()) {
    auto& connection = connection_.cast<ConnectionObject&>();
    if (state == ContextState::stopping) {
      connection.wake_receivers();
    } else {
      connection.end();
      tell_disconnected(connection_, true);
    }
  }
}

void ClientObject::each_reference(References& references) {
  references.drop(connection_);
  EndpointObject::each_reference(references);
}

}  // namespace pydoca::bindings
