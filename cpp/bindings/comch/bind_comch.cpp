#include <pydoca/comch.hpp>

#include "call/keywords.hpp"
#include "call/raw_method.hpp"
#include "call/reader.hpp"
#include "comch/client_object.hpp"
#include "comch/send_task_object.hpp"
#include "comch/server_object.hpp"
#include "convert/bindings.hpp"
#include "convert/collectable.hpp"
#include "engine/awaitable.hpp"

#include <pybind11/stl.h>

#include <array>
#include <span>

namespace pydoca::bindings {

namespace {

void bind_events(py::module_& module) {
  const py::classh<QueuedEvent, Awaitable> event(
      module, "QueuedEvent",
      "An awaitable object of a queue. Its waiters get the objects in the order in which they began to wait.",
      collectable<QueuedEvent>());
  const py::classh<NextOf<ConnectionObject>, QueuedEvent> received(module, "ReceivedMessage",
                                                                   "The next message of a connection, as bytes.");
  const py::classh<NextOf<ServerObject>, QueuedEvent> accepted(module, "AcceptedConnection",
                                                               "The next connection of a server.");
}

void bind_send_task(py::module_& module) {
  py::classh<SendTaskObject, TaskObject>(
      module, "SendTask",
      "Sends one message. It is in flight while the receiver's queue is full. It completes when the message\n"
      "is on its way, not when the receiver has it. Fails with ConnectionResetError when the other side is\n"
      "gone, ShutdownError when this side has closed.")
      .def_property_readonly("connection", &SendTaskObject::connection, "The Connection of the message.")
      .def_property(
          "message", &SendTaskObject::message, &SendTaskObject::set_message,
          "The bytes of the message; None once the task is freed. Setting it, for another submission, raises\n"
          "InUseError in flight and InvalidValueError for a message that is too long.");
  made_by(module, "SendTask", "comch.Connection.send()");
}

template <typename Class>
void bind_counters(Class& type) {
  const auto counter = [](comch::Counter which) {
    return [which](ConnectionObject& self) { return self.counter(which); };
  };
  type.def_property_readonly("sent_messages", counter(comch::Counter::sent_messages),
                             "The number of messages that this side has sent.")
      .def_property_readonly("sent_bytes", counter(comch::Counter::sent_bytes),
                             "The number of bytes in the messages sent.")
      .def_property_readonly("recv_messages", counter(comch::Counter::recv_messages),
                             "The number of messages that have arrived, whether received or not.")
      .def_property_readonly("recv_bytes", counter(comch::Counter::recv_bytes),
                             "The number of bytes in the messages that have arrived.");
}

PyObject* send(PyObject* self, const std::array<PyObject*, 3>& given) {
  const auto [data, user_data, submit] = given;
  return SendTaskObject::send(object_of<ConnectionObject>(self), data, user_data, is_true(submit)).release().ptr();
}

template <bool iterating>
PyObject* receive(PyObject* self) {
  return object_of<ConnectionObject>(self).receive(iterating).release().ptr();
}

std::span<PyMethodDef> messages() {
  static std::array methods{
      raw_method<"send($self, /, data, *, user_data=None, submit=True)", &send>(
          "Allocates a task that sends data, and submits it unless submit is false. data is any object with the\n"
          "buffer protocol; it may change as soon as this returns. Raises NoMemoryError when all num_send_tasks\n"
          "are allocated, InvalidValueError above max_msg_size, ConnectionResetError when the other side is\n"
          "gone, NotConnectedError when this side has closed."),
      raw_method<"recv($self, /)", &receive<false>>(
          "An awaitable, with wait(timeout), of the next message, as bytes. Waiters get messages in order; a\n"
          "wait that is given up takes no message. When the connection has ended, raises ConnectionResetError\n"
          "after the last message that arrived was received. Raises BadStateError when messages go to\n"
          "on_message."),
      raw_method<"_next($self, /)", &receive<true>>("What recv() returns, for an iteration."),
  };
  return methods;
}

template <typename Class>
void bind_connection_life(Class& type) {
  type.def("close", &ConnectionObject::close,
           "Disconnects, and stops the context of a client; idempotent. Tasks in flight fail with ShutdownError.\n"
           "Messages that have arrived can still be received.")
      .def("__enter__", [](py::object self) { return self; })
      .def("__exit__", [](ConnectionObject& self, const py::args&) { self.close(); })
      .def_property_readonly("is_connected", &ConnectionObject::is_connected, "Whether messages can be sent.")
      .def(
          "_snapshot",
          [](const ConnectionObject& self) { return py::make_tuple(self.describe_endpoint(), self.num_messages()); },
          "For displays: its endpoint, and the number of messages that no caller has received yet.");
}

/// The endpoint as a T; null when it is not a T.
template <typename T>
py::object endpoint_as(const ConnectionObject& self) {
  return py::isinstance<T>(self.endpoint_ref()) ? self.endpoint_ref() : py::none();
}

void bind_comch_connection(py::module_& module) {
  py::classh<ConnectionObject> type(module, "Connection",
                                    "A link between a server and one client: reliable messages, in order, both ways.",
                                    collectable<ConnectionObject>());
  add_methods(type, messages());
  bind_connection_life(type);
  bind_counters(type);
  type.def_property_readonly(
          "max_msg_size", [](const ConnectionObject& self) { return self.connection().max_msg_size(); },
          "The most bytes of a message: the smaller limit of the two sides.")
      .def_property_readonly("server", &endpoint_as<ServerObject>,
                             "The Server of the connection. None on a client, and once on_disconnect was called.")
      .def_property_readonly("client", &endpoint_as<ClientObject>,
                             "The Client of the connection. None on a server, and once on_disconnect was called.")
      .def_property("user_data", &ConnectionObject::user_data, &ConnectionObject::set_user_data, "Anything.")
      .def("__repr__", [](const ConnectionObject& self) {
        return "<pydoca comch connection of " + self.describe_endpoint() +
               (self.is_connected() ? ", connected>" : ", closed>");
      });
  made_by(module, "Connection", "comch.Client.connection, comch.Server.accept()");
}

template <typename Class>
void bind_endpoint_settings(Class& type) {
  type.def("set_send_conf", &EndpointObject::set_send_conf, "on_completion"_a = py::none(), "on_error"_a = py::none(),
           "num_tasks"_a = 64,
           "The number of send tasks, and their callbacks, as the constructor's keywords have them; what is left out\n"
           "is the constructor's default. Raises BadStateError unless IDLE, InvalidValueError\n"
           "(doca_comch_server_task_send_set_conf, doca_comch_client_task_send_set_conf).")
      .def_property(
          "max_msg_size", [](const EndpointObject& self) { return self.endpoint().max_msg_size(); },
          &EndpointObject::set_max_msg_size, "Bytes. Setting it raises BadStateError unless IDLE, InvalidValueError.")
      .def_property(
          "recv_queue_size", [](const EndpointObject& self) { return self.endpoint().recv_queue_size(); },
          &EndpointObject::set_recv_queue_size,
          "The most messages that may wait here, per connection. When they are that many, the sender waits. Setting\n"
          "it raises BadStateError unless IDLE, InvalidValueError.")
      .def_property("on_message", &EndpointObject::on_message, &EndpointObject::set_on_message,
                    "Gets (connection, bytes, user_data) instead of recv(), or None. Setting it raises BadStateError\n"
                    "unless IDLE.")
      .def_property("on_disconnect", &EndpointObject::on_disconnect, &EndpointObject::set_on_disconnect,
                    "Gets (connection, successful, user_data), or None. Setting it raises BadStateError unless IDLE.");
}

void bind_endpoint(py::module_& module) {
  py::classh<EndpointObject, ContextObject> type(module, "Endpoint", "The common base of comch servers and clients.");
  const auto read = reader(type, &EndpointObject::endpoint);
  read("name", &comch::Endpoint::name, "The server's name.");
  read("num_send_tasks", &comch::Endpoint::num_send_tasks, "The most sends in flight, on all connections together.");
  bind_endpoint_settings(type);
}

void bind_server(py::module_& module) {
  py::classh<ServerObject, EndpointObject>(
      module, "Server",
      "Serves clients by name on the function that rep represents, from a device of the DPU. Starting it\n"
      "raises AlreadyExistError when that function has a server of this name. Stopping it disconnects every\n"
      "client. on_connect and on_disconnect get (connection, successful, user_data). on_message gets\n"
      "(connection, bytes, user_data); with on_message, recv() gets no messages. on_completion and on_error\n"
      "are for send tasks.")
      .def(py::init([](py::object pe, const py::object& dev, py::object rep, const std::string& name,
                       const py::kwargs& given) {
             return std::make_shared<ServerObject>(std::move(pe), dev, std::move(rep), name, given);
           }),
           "pe"_a, "dev"_a, "rep"_a, "name"_a,
           signature({"pe, dev, rep, name, *, on_connect=None", EndpointObject::keywords, ContextOptions::keywords})
               .c_str())
      .def(
          "accept", [](ServerObject& self) { return self.accept(false); },
          "An awaitable, with wait(timeout), of the next connection that is not accepted yet. Waiters get\n"
          "connections in order. Raises BadStateError unless running, ShutdownError when the server stops\n"
          "meanwhile.")
      .def("_next", [](ServerObject& self) { return self.accept(true); })
      .def_property_readonly("connections", &ServerObject::connections,
                             "The connected clients' connections, whether accepted or not.")
      .def_property_readonly("representor", &ServerObject::representor, "The Representor of the clients' side.")
      .def_property("on_connect", &EndpointObject::on_connect, &EndpointObject::set_on_connect,
                    "Gets (connection, successful, user_data), or None. Setting it raises BadStateError unless IDLE.")
      .def_static("is_supported", &comch::Server::is_supported, "info"_a, "Whether the device can be a server.");
}

void bind_client(py::module_& module) {
  py::classh<ClientObject, EndpointObject>(
      module, "Client",
      "Connects a function of the host to the server of this name, for which it waits at most timeout seconds,\n"
      "None for no limit; after a second it logs that it waits. with and async with give the Connection. When the "
      "connection ends, the\n"
      "context stops by itself. on_disconnect gets (connection, True, user_data). on_message gets\n"
      "(connection, bytes, user_data); with on_message, recv() gets no messages. on_completion and on_error\n"
      "are for send tasks.")
      .def(py::init([](py::object pe, const py::object& dev, const std::string& name, const py::kwargs& given) {
             return std::make_shared<ClientObject>(std::move(pe), dev, name, given);
           }),
           "pe"_a, "dev"_a, "name"_a,
           signature({"pe, dev, name, *, timeout=None", EndpointObject::keywords, ContextOptions::keywords}).c_str())
      .def_property_readonly("timeout", &ClientObject::timeout,
                             "The most seconds from start to connection, then TimeOutError; None for no limit.")
      .def_property_readonly("connection", &ClientObject::connection,
                             "The Connection to the server. Raises BadStateError unless running.")
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
