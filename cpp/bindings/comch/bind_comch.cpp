#include <pydoca/comch.hpp>

#include "call/keywords.hpp"
#include "comch/endpoint_object.hpp"
#include "comch/send_task_object.hpp"
#include "convert/bindings.hpp"
#include "convert/collectable.hpp"
#include "convert/parse.hpp"
#include "task/awaitable.hpp"

#include <pybind11/stl.h>

namespace pydoca::bindings {

namespace py = pybind11;
using namespace py::literals;

namespace {

std::optional<std::uint32_t> to_limit(const py::object& value, std::string_view what) {
  if (value.is_none()) return std::nullopt;
  return to_u32(value, what);
}

void bind_events(py::module_& module) {
  const py::classh<QueuedEvent, Awaitable> event(
      module, "QueuedEvent", "What is handed out to those who wait for it in the order in which they came.",
      collectable<QueuedEvent>());
  const py::classh<ReceivedMessage, QueuedEvent> received(module, "ReceivedMessage",
                                                          "The next message of a connection, as bytes.");
  const py::classh<AcceptedConnection, QueuedEvent> accepted(module, "AcceptedConnection",
                                                             "The next connection of a server.");
}

void bind_send_task(py::module_& module) {
  py::classh<SendTaskObject, TaskObject>(module, "SendTask",
                                         "Sends one message. In flight while the receiver's queue is full; completes "
                                         "when the message is on its way, not when\n"
                                         "it is received. Fails with ConnectionResetError when the other side is gone, "
                                         "ShutdownError when this side closed.")
      .def_property_readonly("connection", &SendTaskObject::connection, "The Connection that it goes over.")
      .def_property("message", &SendTaskObject::message, &SendTaskObject::set_message,
                    "The bytes; None once the task is freed. Setting, for another submission, raises InUseError in\n"
                    "flight and InvalidValueError for too long a message.");
}

template <typename Class>
void bind_counters(Class& type) {
  const auto counter = [](comch::Counter which) {
    return [which](ConnectionObject& self) { return self.counter(which); };
  };
  type.def_property_readonly("sent_messages", counter(comch::Counter::sent_messages),
                             "Messages that this side has sent.")
      .def_property_readonly("sent_bytes", counter(comch::Counter::sent_bytes), "Bytes of those.")
      .def_property_readonly("recv_messages", counter(comch::Counter::recv_messages),
                             "Those that have arrived, received or not.")
      .def_property_readonly("recv_bytes", counter(comch::Counter::recv_bytes), "Bytes of those.");
}

template <typename Class>
void bind_messages(Class& type) {
  type.def("send", &ConnectionObject::send, "data"_a, py::kw_only(), "user_data"_a = py::none(), "submit"_a = true,
           "Takes a task and, unless submit is false, submits it. data (anything with the buffer protocol) may change "
           "at\n"
           "once. Raises NoMemoryError when all num_send_tasks are taken, InvalidValueError above max_msg_size,\n"
           "ConnectionResetError when the other side has gone, NotConnectedError when this side closed.")
      .def(
          "recv", [](ConnectionObject& self) { return self.receive(false); },
          "Awaitable, with wait(timeout): the next message, as bytes. Those who wait are served in order; who gives "
          "up\n"
          "takes no message along. When the connection has ended, raises ConnectionResetError once everything that\n"
          "arrived was received. Raises BadStateError when messages go to on_message.")
      .def("_next", [](ConnectionObject& self) { return self.receive(true); });
}

template <typename Class>
void bind_connection_life(Class& type) {
  type.def("close", &ConnectionObject::close,
           "Disconnects; a client's context stops with it. Idempotent. Tasks that wait fail with ShutdownError; what "
           "has\n"
           "arrived can still be received.")
      .def("__enter__", [](py::object self) { return self; })
      .def("__exit__", [](ConnectionObject& self, const py::args&) { self.close(); })
      .def_property_readonly("is_connected", &ConnectionObject::is_connected, "Whether messages can be sent.");
}

/// The endpoint, if it is a T.
template <typename T>
py::object endpoint_as(const ConnectionObject& self) {
  return py::isinstance<T>(self.endpoint_ref()) ? self.endpoint_ref() : py::none();
}

void bind_comch_connection(py::module_& module) {
  py::classh<ConnectionObject> type(module, "Connection",
                                    "A link between a server and one client: reliable messages, in order, both ways.",
                                    collectable<ConnectionObject>());
  bind_messages(type);
  bind_connection_life(type);
  bind_counters(type);
  type.def_property_readonly(
          "max_msg_size", [](const ConnectionObject& self) { return self.connection().max_msg_size(); },
          "Bytes; the smaller of both sides' limits.")
      .def_property_readonly("server", &endpoint_as<ServerObject>, "None for a client's, and once it has ended.")
      .def_property_readonly("client", &endpoint_as<ClientObject>, "None for a server's, and once it has ended.")
      .def_property("user_data", &ConnectionObject::user_data, &ConnectionObject::set_user_data, "Anything.")
      .def("__repr__", [](const ConnectionObject& self) {
        return "<pydoca comch connection of " + self.describe_endpoint() +
               (self.is_connected() ? ", connected>" : ", closed>");
      });
}

void bind_endpoint(py::module_& module) {
  py::classh<EndpointObject, ContextObject>(module, "Endpoint", "What a comch server and a client have in common.")
      .def_property_readonly(
          "name", [](const EndpointObject& self) { return self.endpoint().name(); }, "The server's name.")
      .def_property_readonly(
          "max_msg_size", [](const EndpointObject& self) { return self.endpoint().max_msg_size(); }, "Bytes.")
      .def_property_readonly(
          "recv_queue_size", [](const EndpointObject& self) { return self.endpoint().recv_queue_size(); },
          "Messages that may wait here, per connection, before the sender has to.")
      .def_property_readonly("num_send_tasks", &EndpointObject::num_send_tasks,
                             "Sends that can be under way at a time, on all connections.");
}

constexpr std::uint32_t default_send_tasks = 64;
constexpr std::string_view endpoint_keywords =
    "max_msg_size=None, recv_queue_size=None, num_send_tasks=64, on_disconnect=None, on_message=None";

EndpointOptions to_endpoint_options(const py::kwargs& given) {
  const py::object num_send_tasks = keyword(given, "num_send_tasks");
  return {ContextOptions::of(given),
          keyword(given, "on_connect"),
          keyword(given, "on_disconnect"),
          keyword(given, "on_message"),
          to_limit(keyword(given, "max_msg_size"), "max_msg_size"),
          to_limit(keyword(given, "recv_queue_size"), "recv_queue_size"),
          given.contains("num_send_tasks") ? to_u32(num_send_tasks, "num_send_tasks") : default_send_tasks};
}

void bind_server(py::module_& module) {
  py::classh<ServerObject, EndpointObject>(
      module, "Server",
      "Serves clients by name on the function that rep stands for, from a device of the DPU. Starting it raises\n"
      "AlreadyExistError when that function has a server of this name. Stopping disconnects everybody. on_connect and\n"
      "on_disconnect get (connection, successful, user_data), on_message (connection, bytes, user_data); with "
      "on_message\n"
      "nothing is left for recv(). on_completion and on_error are for send tasks.")
      .def(py::init([](py::object pe, const py::object& dev, py::object rep, const std::string& name,
                       const py::kwargs& options) {
             return std::make_unique<ServerObject>(std::move(pe), dev, std::move(rep), name,
                                                   to_endpoint_options(options));
           }),
           "pe"_a, "dev"_a, "rep"_a, "name"_a,
           signature({"pe, dev, rep, name, *, on_connect=None", endpoint_keywords, ContextOptions::keywords}).c_str())
      .def(
          "accept", [](ServerObject& self) { return self.accept(false); },
          "Awaitable, with wait(timeout): the next connection that was not accepted yet. Those who wait are served in\n"
          "order. Raises BadStateError unless running, ShutdownError when the server stops meanwhile.")
      .def("_next", [](ServerObject& self) { return self.accept(true); })
      .def_property_readonly("connections", &ServerObject::connections, "Those that are connected, accepted or not.")
      .def_property_readonly("representor", &ServerObject::representor, "The Representor of the clients' side.")
      .def_static("is_supported", &comch::Server::is_supported, "info"_a, "Whether the device can be a server.");
}

void bind_client(py::module_& module) {
  py::classh<ClientObject, EndpointObject>(
      module, "Client",
      "Connects a function of the host to the server of this name, for which it waits as long as it takes: use a\n"
      "time-out around it. Its with and async with give the Connection. When that ends, the context stops by itself.\n"
      "on_disconnect gets (connection, True, user_data), on_message (connection, bytes, user_data); with on_message\n"
      "nothing is left for recv(). on_completion and on_error are for send tasks.")
      .def(py::init([](py::object pe, const py::object& dev, const std::string& name, const py::kwargs& options) {
             return std::make_unique<ClientObject>(std::move(pe), dev, name, to_endpoint_options(options));
           }),
           "pe"_a, "dev"_a, "name"_a,
           signature({"pe, dev, name, *", endpoint_keywords, ContextOptions::keywords}).c_str())
      .def_property_readonly("connection", &ClientObject::connection, "Raises BadStateError unless running.")
      .def_static("is_supported", &comch::Client::is_supported, "info"_a, "Whether the device can be a client.");
}

}  // namespace

void bind_comch(py::module_& module) {
  bind_events(module);
  bind_send_task(module);
  bind_comch_connection(module);
  bind_endpoint(module);
  bind_server(module);
  bind_client(module);
}

}  // namespace pydoca::bindings
