#include "comch/client_object.hpp"

#include "call/keywords.hpp"
#include "comch/connection_object.hpp"
#include "convert/convert.hpp"
#include "convert/parse.hpp"
#include "memory/mmap_object.hpp"

#include <chrono>
#include <cmath>
#include <utility>

namespace pydoca::bindings {

namespace {

/// The engine's 0 means no limit.
std::chrono::milliseconds to_milliseconds(const py::object& timeout) {
  if (PyNumber_Check(timeout.ptr()) == 0) refuse_type("timeout", "a number of seconds, or None", timeout);
  const auto seconds = py::float_(timeout).cast<double>();
  if (std::isnan(seconds) || seconds <= 0 || seconds >= 1e9) {
    raise(Status::invalid_value,
          format_text("timeout is {!r}; it is in seconds, more than 0, or None for no limit", timeout));
  }
  return std::chrono::ceil<std::chrono::milliseconds>(std::chrono::duration<double>(seconds));
}

}  // namespace

std::shared_ptr<comch::Client> ClientObject::create(const py::object& device, std::string_view name) {
  auto client = comch::Client::create(to_device(device).get(), name);
  client->set_message_received(ConnectionObject::message_received);
  return client;
}

ClientObject::ClientObject(py::object engine, const py::object& device, std::string_view name, const py::kwargs& given)
    : EndpointObject(std::move(engine), device, create(device, name), given) {
  if (const py::object timeout = keyword(given, "timeout"); !timeout.is_none()) {
    client().set_timeout(to_milliseconds(timeout));
  }
}

py::object ClientObject::timeout() const {
  const std::chrono::milliseconds timeout = client().timeout();
  return timeout.count() == 0 ? py::object(py::none()) : py::float_(static_cast<double>(timeout.count()) / 1000);
}

py::object ClientObject::connection() const {
  static_cast<void>(client().connection());
  return connection_;
}

void ClientObject::disconnect(comch::Connection& /*connection*/) { static_cast<void>(stop()); }

py::object ClientObject::entered() {
  if (!connection_.is_none()) {
    return connection_;
  }
  const Status failure = client().failure();
  if (failure == Status::success) {
    raise(Status::shutdown, "start " + describe() + ": it was stopped before it was connected");
  }
  if (failure == Status::time_out) {
    raise(failure,
          format_text("start {}: no server of this name was there for {} within {} s; start it, or wait longer{}",
                      describe(), client().device()->info().name(), timeout(),
                      client().failure_reason().empty() ? "" : " (it looked " + client().failure_reason() + ")"));
  }
  const std::string& refusal = client().refusal();
  raise(failure, "start " + describe() + ": " + (refusal.empty() ? std::string(error_descr(failure)) : refusal));
}

void ClientObject::state_entered(ContextState state) {
  if (state == ContextState::starting) {
    connection_ = py::none();
  } else if (state == ContextState::running) {
    connection_ = ConnectionObject::make(self(), *client().connection());
  } else if (!connection_.is_none()) {
    auto& connection = connection_.cast<ConnectionObject&>();
    if (state == ContextState::stopping) {
      connection.wake_receivers();
    } else {
      const py::object held = connection_;
      connection.end();
      tell_disconnected(held, true);
      connection.forget_endpoint();
    }
  }
}

void ClientObject::each_reference(References& references) {
  references.drop(connection_);
  EndpointObject::each_reference(references);
}

}  // namespace pydoca::bindings
