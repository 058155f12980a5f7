#include <pydoca/rdma.hpp>

#include "call/keywords.hpp"
#include "call/raw_method.hpp"
#include "call/reader.hpp"
#include "convert/bindings.hpp"
#include "convert/collectable.hpp"
#include "convert/convert.hpp"
#include "convert/names.hpp"
#include "convert/parse.hpp"
#include "engine/awaitable.hpp"
#include "rdma/rdma_object.hpp"
#include "rdma/rdma_settings.hpp"
#include "rdma/rdma_task_methods.hpp"

#include <pybind11/stl.h>

#include <functional>
#include <memory>
#include <utility>

namespace pydoca::bindings {

namespace {

void bind_enums(py::module_& module) {
  bind_names(py::native_enum<RdmaTransport>(module, "RdmaTransport", "enum.IntEnum",
                                            "The transport of connections: reliable (RC) or dynamic (DC)."),
             transport_names);
  py::native_enum<RdmaOpcode>(module, "RdmaOpcode", "enum.IntEnum", "The operation that sent a received message.")
      .value("RECV_SEND", RdmaOpcode::recv_send)
      .value("RECV_SEND_WITH_IMM", RdmaOpcode::recv_send_with_imm)
      .value("RECV_WRITE_WITH_IMM", RdmaOpcode::recv_write_with_imm)
      .finalize();
  using State = RdmaConnection::State;
  py::native_enum<State>(module, "RdmaConnectionState", "enum.IntEnum",
                         "The state of a connection: what it waits for, or that it takes tasks.")
      .value("EXPORTED", State::exported)
      .value("REQUESTED", State::requested)
      .value("CONNECTING", State::connecting)
      .value("ESTABLISHED", State::established)
      .value("CLOSING", State::closing)
      .value("CLOSED", State::closed)
      .finalize();
}

void bind_operands(py::classh<RdmaTaskObject, LibraryTaskObject>& type) {
  type.def_property(
      "result_buf", [](const RdmaTaskObject& self) { return self.get(rdma_operands::answer); },
      [](RdmaTaskObject& self, const py::object& value) { self.set(rdma_operands::answer, value); },
      "The Buf to which an atomic, or remote_net_sync_event_notify_add, appends the old value. None for\n"
      "other tasks, and once the task is freed. Setting it raises InUseError in flight.");
  type.def_property(
      "sync_event", [](const RdmaTaskObject& self) { return self.get(rdma_operands::event); },
      [](RdmaTaskObject& self, const py::object& value) { self.set(rdma_operands::event, value); },
      "The peer's SyncEventRemoteNet of a remote_net_sync_event task. None for other tasks, and once the task\n"
      "is freed. Setting it raises InUseError in flight.");
  const auto number = [&](const Operand& operand, const char* doc) {
    type.def_property(
        operand.name, [&operand](const RdmaTaskObject& self) { return self.number(operand); },
        [&operand](RdmaTaskObject& self, const py::object& value) { self.set(operand, value); }, doc);
  };
  number(rdma_operands::compare, "The value that atomic_cmp_swp compares with.");
  number(rdma_operands::swap, "The value that atomic_cmp_swp writes when the comparison is equal.");
  number(rdma_operands::add, "The number that atomic_fetch_add, or remote_net_sync_event_notify_add, adds.");
  number(rdma_operands::immediate, "The number that send_imm or write_imm sends: 0..2**32-1.");
}

void bind_rdma_task(py::module_& module) {
  py::classh<RdmaTaskObject, LibraryTaskObject> type(
      module, "RdmaTask",
      "One operation of an Rdma context. The result is the length (receive, read), the old or present value\n"
      "(atomics, sync events) or None. A failure in the device ends the connection and, except for a\n"
      "receive, stops the context. When the peer is gone (ConnectionResetError), only the connection ends.");
  bind_operands(type);
  type.def_property_readonly(
          "kind", [](const RdmaTaskObject& self) { return to_str(name_of(self.task_kind())); },
          "The name of its kind in num_tasks: receive, send, ...")
      .def_property("connection", &RdmaTaskObject::connection, &RdmaTaskObject::set_connection,
                    "The connection that the task uses, or, after a receive, that the message came over; None before\n"
                    "that. Setting it, for another submission, raises InUseError in flight, InvalidValueError for a\n"
                    "receive and for a connection of another context.")
      .def_property_readonly("result_len", &RdmaTaskObject::result_len,
                             "The number of bytes that a receive or a read has brought.")
      .def_property_readonly("result_opcode", &RdmaTaskObject::result_opcode,
                             "The operation that sent the received message.")
      .def_property_readonly("result_immediate_data", &RdmaTaskObject::result_immediate_data,
                             "The immediate data that came with the message, or None.");
  made_by(module, "RdmaTask", "RdmaConnection.write() and its siblings, Rdma.receive()");
}

void bind_waits(py::module_& module) {
  py::classh<EstablishedConnection, Awaitable>(module, "EstablishedConnection",
                                               "The awaitable of a connection, until it is established.",
                                               collectable<EstablishedConnection>())
      .def_property_readonly("connection", &EstablishedConnection::connection,
                             "The connection, also before it is established.");
  const py::classh<EndedConnection, Awaitable> ended(
      module, "EndedConnection", "The awaitable of the end of a connection.", collectable<EndedConnection>());
  py::classh<NextOf<RdmaListenerObject>, QueuedEvent>(module, "RequestedConnection",
                                                      "The awaitable of the next connection request.");
}

template <typename Class>
void bind_connecting(Class& type) {
  type.def("connect", &RdmaConnectionObject::connect, "details"_a,
           "Connects a connection of Rdma.export() to the peer's; details is what the peer exported. When this\n"
           "returns, tasks may be submitted. Raises InvalidValueError and UnsupportedVersionError for details\n"
           "that are damaged or of something else, BadStateError when it is connected, ConnectionAbortedError\n"
           "when the peer is gone or connected to another (doca_rdma_connect).")
      .def("accept", &RdmaConnectionObject::accept, "private_data"_a = py::bytes(),
           "Accepts a connection request. private_data: up to 196 bytes that the peer gets with the answer.\n"
           "Returns an awaitable of the connection, once established. Raises BadStateError unless this is a\n"
           "request, ConnectionAbortedError when the peer is gone, InvalidValueError for more private data\n"
           "(doca_rdma_connection_accept).")
      .def("reject", &RdmaConnectionObject::reject, "Rejects a connection request (doca_rdma_connection_reject).")
      .def("disconnect", &RdmaConnectionObject::disconnect,
           "Ends the connection; idempotent. Its tasks fail with ShutdownError. Returns an awaitable of the end,\n"
           "which the caller may drop. A connection that was exported and not connected is given up at once\n"
           "(doca_rdma_connection_disconnect).")
      .def(
          "established", [](RdmaConnectionObject& self) { return self.established(); },
          "The awaitable of the connection, once it is established. It raises the reason when the connection\n"
          "could not be established.")
      .def("ended", &RdmaConnectionObject::ended, "The awaitable of the connection's end, whichever side ends it.")
      .def("__enter__", [](py::object self) { return self; })
      .def("__exit__", [](RdmaConnectionObject& self, const py::args&) { self.disconnect(); });
}

template <typename Class>
void bind_connection_properties(Class& type) {
  type.def_property_readonly(
          "failure", [](const RdmaConnectionObject& self) { return to_status(self.connection().failure()); },
          "The reason why the connection could not be made, or has ended: for example the status of the task\n"
          "that broke it. SUCCESS before that, and when this side ended it by disconnect() or stop().")
      .def_property_readonly(
          "details", [](const RdmaConnectionObject& self) { return to_python(self.connection().details()); },
          "The details for the peer's connect(), less than 512 bytes. Empty unless made by Rdma.export().")
      .def_property_readonly(
          "private_data", [](const RdmaConnectionObject& self) { return to_python(self.connection().private_data()); },
          "The private data of the peer's request or acceptance.")
      .def_property_readonly(
          "address",
          [](const RdmaConnectionObject& self) {
            const RdmaAddress address = self.connection().addr();
            return py::make_tuple(address.address(), address.port());
          },
          "The peer's address and port. Raises InvalidValueError unless the connection was made by an address.")
      .def_property_readonly("rdma", &RdmaConnectionObject::rdma_ref,
                             "The Rdma of the connection; None once its end was reported.")
      .def_property("user_data", &RdmaConnectionObject::user_data, &RdmaConnectionObject::set_user_data,
                    "Any object; the callbacks get it as an argument.");
  const auto read = reader(type, &RdmaConnectionObject::connection);
  read("id", &RdmaConnection::id, "The number of the connection, unique within the context.");
  read("state", &RdmaConnection::state, "The state: what it waits for, or that it takes tasks.");
  read("is_connected", &RdmaConnection::is_connected, "Whether it takes tasks.");
}

void bind_rdma_connection(py::module_& module) {
  py::classh<RdmaConnectionObject> type(module, "RdmaConnection", "A connection of an Rdma context to one peer.",
                                        collectable<RdmaConnectionObject>());
  bind_connecting(type);
  bind_connection_properties(type);
  add_methods(type, message_methods());
  add_methods(type, atomic_methods());
  type.def("__repr__", [](const RdmaConnectionObject& self) {
    const auto state = py::cast(self.connection().state()).attr("name").cast<std::string>();
    return "<pydoca " + self.describe() + ", " + state + ">";
  });
  made_by(module, "RdmaConnection", "Rdma.export(), Rdma.connect()");
}

void bind_listener(py::module_& module) {
  py::classh<RdmaListenerObject>(
      module, "RdmaListener",
      "A port on which an Rdma listens until the listener is closed or dropped, or the context stops. It is\n"
      "an iterator of connection requests.",
      collectable<RdmaListenerObject>())
      .def(
          "request", [](RdmaListenerObject& self) { return self.request(false); },
          "An awaitable, with wait(timeout), of the next connection request; accept or reject it. With several\n"
          "ports it is the next request of any port. Raises ShutdownError when the port is closed meanwhile.")
      .def("_next", [](RdmaListenerObject& self) { return self.request(true); })
      .def("close", &RdmaListenerObject::close,
           "Stops listening; connections stay. Idempotent (doca_rdma_stop_listen_to_port).")
      .def("__enter__",
           [](const py::object& self) {
             self.cast<RdmaListenerObject&>().enter();
             return self;
           })
      .def("__exit__", [](RdmaListenerObject& self, const py::args&) { self.close(); })
      .def_property_readonly("port", &RdmaListenerObject::port, "1..65535.")
      .def_property_readonly("closed", &RdmaListenerObject::is_closed,
                             "Whether it has ended, by close() or with its context.")
      .def("__repr__", [](const RdmaListenerObject& self) {
        return "<pydoca rdma listener, port " + std::to_string(self.port()) + (self.is_closed() ? ", closed>" : ">");
      });
  made_by(module, "RdmaListener", "Rdma.listen()");
}

constexpr std::string_view setting_keywords =
    "send_queue_size=None, recv_queue_size=None, max_send_buf_list_len=None, receive_dst_buf_list_len=None, "
    "transport_type=None, mtu=None, permissions=None, grh_enabled=None, gid_index=None, sl=None, "
    "connection_request_timeout=None, max_num_connections=None, rnr_retry_count=None";

py::object connect(RdmaObject& self, const py::object& peer, const py::object& port, const py::object& address_type,
                   const py::object& private_data, py::object user_data) {
  if (!py::isinstance<py::str>(peer)) refuse_type("address", "a str", peer);
  return self.connect(to_utf8(peer), to_port(port), address_type, private_data, std::move(user_data));
}

template <typename Class>
void bind_connections(Class& type) {
  type.def("export", &RdmaObject::export_connection,
           "A connection whose details this side and the peer exchange, by any means. Raises FullError at\n"
           "max_num_connections (doca_rdma_export).")
      .def("_connect", &connect, "address"_a, "port"_a, "address_type"_a, "private_data"_a, "user_data"_a)
      .def(
          "listen", [](RdmaObject& self, const py::object& port) { return self.listen(to_port(port)); }, "port"_a,
          "Listens on a port (RDMA-CM). async for connection in rdma.listen(port) gives connection requests;\n"
          "accept or reject each. With on_request the callback gets them. Raises ConnectionAbortedError when\n"
          "another context listens to the port, NotSupportedError, BadStateError when this context listens to it,\n"
          "and unless the context runs (doca_rdma_start_listen_to_port).")
      .def_property_readonly("connections", &RdmaObject::connections, "The connections that have not ended.");
}

template <typename Class>
auto setting_of(Class& type) {
  return [&type](const char* name, auto member, const char* doc) {
    type.def_property(
        name, [member](const RdmaObject& self) { return std::invoke(member, self.rdma()); },
        [name](RdmaObject& self, const py::object& value) { self.set_setting(name, value); }, doc);
  };
}

template <typename Class>
void bind_sizes(Class& type) {
  const auto setting = setting_of(type);
  setting("send_queue_size", &Rdma::send_queue_size,
          "The most tasks, other than receives, in flight on one connection.");
  setting("recv_queue_size", &Rdma::recv_queue_size, "The most receives in flight; 0 until the context has started.");
  setting(
      "max_send_buf_list_len", [](const Rdma& rdma) { return rdma.max_send_buf_list_len(); },
      "The most elements of a buf list that a task sends or writes.");
  setting("receive_dst_buf_list_len", &Rdma::receive_dst_buf_list_len,
          "The most elements of a buf list that a receive fills.");
  type.def(
          "num_tasks",
          [](const RdmaObject& self, const std::string& kind) { return self.rdma().num_tasks(to_rdma_task(kind)); },
          "kind"_a, "The number of its tasks of this kind (receive, send, ...).")
      .def("set_conf", &RdmaObject::set_conf, "kind"_a, "on_completion"_a = py::none(), "on_error"_a = py::none(),
           "num_tasks"_a = 32,
           "The number of tasks of this kind, and their callbacks, as the constructor's keywords have them for all\n"
           "kinds; what is left out is the constructor's default. Raises BadStateError unless IDLE,\n"
           "NotSupportedError for a kind that the device lacks, InvalidValueError (doca_rdma_task_send_set_conf and\n"
           "its like).");
}

template <typename Class>
void bind_connection_callbacks(Class& type) {
  const auto callback = [&](const char* name, py::object RdmaCallbacks::* which, const char* doc) {
    type.def_property(
        name, [which](const RdmaObject& self) { return self.connection_callbacks().*which; },
        [which, name](RdmaObject& self, py::object value) {
          self.set_connection_callback(which, name, std::move(value));
        },
        doc);
  };
  callback("on_request", &RdmaCallbacks::on_request,
           "Gets (connection, user_data) for each request instead of listen(), or None. Setting it raises\n"
           "BadStateError unless IDLE.");
  callback("on_established", &RdmaCallbacks::on_established,
           "Gets (connection, connection.user_data, user_data), or None. Setting it raises BadStateError unless IDLE.");
  callback("on_failure", &RdmaCallbacks::on_failure,
           "Gets what on_established does, for a connection that could not be made, or None.");
  callback("on_disconnect", &RdmaCallbacks::on_disconnect,
           "Gets what on_established does, for a connection that has ended, or None.");
}

template <typename Class>
void bind_settings(Class& type) {
  bind_sizes(type);
  const auto setting = setting_of(type);
  setting("transport_type", &Rdma::transport_type, "The transport of its connections.");
  setting("permissions", &Rdma::permissions, "What peers may do to memory that is exported to them here.");
  setting("grh_enabled", &Rdma::grh_enabled, "Whether packets have a global routing header.");
  setting("gid_index", &Rdma::gid_index, "The index of the entry in the device's GID table that packets use.");
  setting("sl", &Rdma::sl, "The service level, 0..15.");
  setting("connection_request_timeout", &Rdma::connection_request_timeout,
          "The time in milliseconds for which connect(), and accept() on a device of verbs, wait for the peer.");
  setting(
      "max_num_connections", [](const Rdma& rdma) { return rdma.max_num_connections(); },
      "The most connections at a time.");
  setting("rnr_retry_count", &Rdma::rnr_retry_count,
          "How often the device offers a message to a peer without a posted receive: 0..7, where 7 means\n"
          "without a limit.");
  setting("mtu", [](const Rdma& rdma) { return to_bytes(rdma.mtu()); }, "Bytes.");
}

template <typename Class>
void bind_rdma_capabilities(Class& type) {
  type.def_static("is_supported", &Rdma::is_supported, "info"_a, "Whether the device has RDMA.")
      .def_static(
          "is_task_supported",
          [](const DeviceInfo& info, const std::string& kind) {
            return Rdma::is_task_supported(info, to_rdma_task(kind));
          },
          "info"_a, "kind"_a, "Whether the device has tasks of this kind (receive, send, ...).")
      .def_static(
          "is_transport_type_supported",
          [](const DeviceInfo& info, const py::object& transport) {
            return Rdma::is_transport_type_supported(info, to_transport(transport));
          },
          "info"_a, "transport"_a, "Whether the device has this transport: rc or dc.")
      .def_static("is_connection_manager_supported", &Rdma::is_connection_manager_supported, "info"_a,
                  "Whether the device can listen, and connect to addresses.")
      .def_static("max_send_queue_size", &Rdma::max_send_queue_size, "info"_a, "The largest send_queue_size.")
      .def_static("max_recv_queue_size", &Rdma::max_recv_queue_size, "info"_a, "The most receives of a context.")
      .def_static(
          "max_receive_dst_buf_list_len",
          [](const DeviceInfo& info, const py::object& transport) {
            return Rdma::max_receive_dst_buf_list_len(info, to_transport(transport));
          },
          "info"_a, "transport"_a = "rc", "The largest receive_dst_buf_list_len.")
      .def_static("max_message_size", &Rdma::max_message_size, "info"_a, "Bytes.")
      .def_static("gid_table_size", &Rdma::gid_table_size, "info"_a, "The number of entries in the device's GID table.")
      .def_static(
          "gids",
          [](const DeviceInfo& info, std::uint32_t start, const py::object& count) {
            py::list texts;
            const std::uint32_t size = Rdma::gid_table_size(info);
            const std::uint32_t all = start < size ? size - start : 0;
            for (const auto& gid : Rdma::gids(info, start, count.is_none() ? all : to_u32(count, "count"))) {
              texts.append(to_str(to_text(gid)));
            }
            return texts;
          },
          "info"_a, "start"_a = 0, "count"_a = py::none(), "The entries of the GID table, written as IPv6 addresses.");
}

}  // namespace

void bind_rdma(py::module_& module) {
  module.def("require_port", &to_port, "port"_a);
  bind_enums(module);
  bind_rdma_task(module);
  bind_waits(module);
  bind_rdma_connection(module);
  bind_listener(module);
  py::classh<RdmaObject, ContextObject> type(
      module, "Rdma",
      "Moves data between this process and peers on the network: messages, and memory that peers have\n"
      "exported with Mmap.export_rdma(). num_tasks: the number of tasks of every kind that the device has,\n"
      "or a dict for some kinds, such as {\"write\": 64}. Settings have DOCA's names: max_num_connections,\n"
      "permissions (what peers may do here: rdma_read|rdma_write|rdma_atomic), send_queue_size,\n"
      "max_send_buf_list_len, receive_dst_buf_list_len, transport_type, mtu (bytes), grh_enabled,\n"
      "gid_index, sl, connection_request_timeout (ms), rnr_retry_count. They can be read, and set while it is\n"
      "IDLE (BadStateError, InvalidValueError, NotSupportedError). on_request gets (connection,\n"
      "user_data). on_established, on_failure and on_disconnect get (connection, connection.user_data,\n"
      "user_data).");
  type.def(py::init([](py::object pe, const py::object& dev, const py::object& num_tasks, const py::kwargs& settings) {
             return std::make_shared<RdmaObject>(std::move(pe), dev, num_tasks, settings);
           }),
           "pe"_a, "dev"_a, py::kw_only(), "num_tasks"_a = 32,
           signature({"pe, dev, *, num_tasks=32", setting_keywords, RdmaObject::keywords, ContextOptions::keywords})
               .c_str());
  add_methods(type, receive_methods());
  bind_connections(type);
  bind_settings(type);
  bind_connection_callbacks(type);
  bind_rdma_capabilities(type);
}

}  // namespace pydoca::bindings
