#include "rdma/rdma_task_methods.hpp"

#include <pydoca/rdma.hpp>

#include "rdma/rdma_connection_object.hpp"
#include "rdma/rdma_object.hpp"
#include "task/library_task.hpp"

#include <array>
#include <cstddef>
#include <utility>

namespace pydoca::bindings {

namespace {

template <RdmaTaskKind kind>
using RdmaGiven = GivenOperands<traits_of(kind).operands.size()>;

template <RdmaTaskKind kind>
py::object take_task_with(PyObject* rdma, RdmaGiven<kind>&& operands, const py::object& connection,
                          py::handle user_data, bool submit) {
  return make_task<RdmaTaskObject, RdmaObject>(
      rdma, static_cast<std::size_t>(kind),
      RdmaOperands<std::tuple_size_v<RdmaGiven<kind>>>{std::move(operands), connection}, user_data, submit,
      [&](RdmaObject& context) -> RdmaTask& { return context.new_slot(kind, connection); });
}

template <RdmaTaskKind kind>
py::object take_task(PyObject* rdma, RdmaGiven<kind>&& operands, py::handle user_data, bool submit) {
  return take_task_with<kind>(rdma, std::move(operands), py::none(), user_data, submit);
}

template <RdmaTaskKind kind>
py::object take_task_of_connection(PyObject* self, RdmaGiven<kind>&& operands, py::handle user_data, bool submit) {
  const py::object rdma = object_of<RdmaConnectionObject>(self).rdma_for(kind);
  const auto connection = py::reinterpret_borrow<py::object>(self);
  return take_task_with<kind>(rdma.ptr(), std::move(operands), connection, user_data, submit);
}

/// A method of RdmaConnection, or for a receive of Rdma.
template <RdmaTaskKind kind>
PyMethodDef method(const char* doc) {
  constexpr auto make = kind == RdmaTaskKind::receive ? &take_task<kind> : &take_task_of_connection<kind>;
  return task_method<traits_of(kind), make>(doc);
}

}  // namespace

std::span<PyMethodDef> receive_methods() {
  static std::array methods{method<RdmaTaskKind::receive>(
      "Allocates a task that waits for a message of any connection, and submits it unless submit is false.\n"
      "The message is appended to dst, a Buf, or None for empty messages. The result is the length;\n"
      "result_immediate_data, result_opcode and connection describe the message. Giving up its await takes\n"
      "effect at once, and leaves the receive posted. Raises NoMemoryError when all tasks of the kind are\n"
      "allocated, BadStateError unless the context runs, AgainError when the queue is full\n"
      "(doca_rdma_task_receive).")};
  return methods;
}

std::span<PyMethodDef> message_methods() {
  static std::array methods{
      method<RdmaTaskKind::send>(
          "Allocates a task that sends src's data (None: no bytes) to a receive of the peer, and submits it\n"
          "unless submit is false. Raises NoMemoryError when all tasks of the kind are allocated,\n"
          "NotConnectedError, InvalidValueError for bufs that do not fit, AgainError when the queue is full\n"
          "(doca_rdma_task_send)."),
      method<RdmaTaskKind::send_imm>(
          "Sends src's data as send() does. The peer's receive also gets immediate_data, 0..2**32-1\n"
          "(doca_rdma_task_send_imm)."),
      method<RdmaTaskKind::read>(
          "Allocates a task that appends src's data, in the peer's memory, to dst; its result is the length.\n"
          "Submits and raises as send() does (doca_rdma_task_read)."),
      method<RdmaTaskKind::write>(
          "Allocates a task that writes src's data to dst's tailroom, in the peer's memory; the data section of\n"
          "dst does not change. Submits and raises as send() does (doca_rdma_task_write)."),
      method<RdmaTaskKind::write_imm>(
          "Writes as write() does. After that a receive of the peer gets immediate_data, 0..2**32-1\n"
          "(doca_rdma_task_write_imm)."),
  };
  return methods;
}

std::span<PyMethodDef> atomic_methods() {
  static std::array methods{
      method<RdmaTaskKind::atomic_cmp_swp>(
          "Allocates a task that compares the eight bytes at dst's data, in the peer's memory, with cmp_data,\n"
          "and sets them to swap_data when they are equal. The result is the old value, which is also appended\n"
          "to the buf result. Submits and raises as send() does (doca_rdma_task_atomic_cmp_swp)."),
      method<RdmaTaskKind::atomic_fetch_add>(
          "Allocates a task that adds add_data to the eight bytes at dst's data, in the peer's memory, modulo\n"
          "2**64. The result is the old value, which is also appended to the buf result. Submits and raises as\n"
          "send() does (doca_rdma_task_atomic_fetch_add)."),
      method<RdmaTaskKind::remote_net_sync_event_get>(
          "Allocates a task that reads the value of the peer's event, eight bytes. The result is the value,\n"
          "which is also appended to dst. Submits and raises as send() does\n"
          "(doca_rdma_task_remote_net_sync_event_get)."),
      method<RdmaTaskKind::remote_net_sync_event_notify_set>(
          "Allocates a task that sets the peer's event to src's data, eight bytes. Submits and raises as send()\n"
          "does (doca_rdma_task_remote_net_sync_event_notify_set)."),
      method<RdmaTaskKind::remote_net_sync_event_notify_add>(
          "Allocates a task that adds add_data to the peer's event. The result is the old value, which is also\n"
          "appended to the buf result. Submits and raises as send() does\n"
          "(doca_rdma_task_remote_net_sync_event_notify_add)."),
  };
  return methods;
}

}  // namespace pydoca::bindings
