#include "rdma/rdma_task_object.hpp"

#include "call/raw_method.hpp"
#include "convert/convert.hpp"
#include "memory/buf_object.hpp"
#include "memory/sync_event_remote_net.hpp"
#include "rdma/rdma_connection_object.hpp"

#include <bit>
#include <cstring>
#include <endian.h>
#include <utility>

namespace pydoca::bindings {

RdmaTaskObject::RdmaTaskObject(py::object context, RdmaTask& slot)
    : LibraryTaskObject(std::move(context), slot, static_cast<std::size_t>(slot.kind()), traits_of(slot.kind())),
      kind_(slot.kind()) {}

const void* RdmaTaskObject::answer_place() const {
  if (!traits().answers_word) {
    return nullptr;
  }
  const Buf* const buf = element_of(traits().fills == Operand::dst ? operands().dst : operands().result);
  const bool here = buf != nullptr && !buf->mmap()->is_from_export();
  return here ? std::bit_cast<const void*>(buf->data() + buf->data_len()) : nullptr;
}

void RdmaTaskObject::set_operands() {
  RdmaTask& task = rdma_slot();
  // An operand that tasks of this kind lack is None here. Its setter refuses, which changes nothing.
  static_cast<void>(task.set_src_buf(element_of(operands().src)));
  static_cast<void>(task.set_dst_buf(element_of(operands().dst)));
  if (kind_ != RdmaTaskKind::receive) {
    set_remote_operands();
  }
  LibraryTaskObject::set_operands();
}

void RdmaTaskObject::set_remote_operands() {
  RdmaTask& task = rdma_slot();
  const Operands& given = operands();
  static_cast<void>(task.set_connection(given.connection.cast<RdmaConnectionObject&>().shared()));
  static_cast<void>(task.set_immediate_data(htobe32(given.immediate)));
  if (kind_ < RdmaTaskKind::atomic_cmp_swp) {
    return;
  }
  static_cast<void>(task.set_result_buf(element_of(given.result)));
  static_cast<void>(task.set_cmp_data(given.compare));
  static_cast<void>(task.set_swap_data(given.number));
  static_cast<void>(task.set_add_data(given.number));
  if (traits().has(Operand::event)) {
    // Shares the Python object's handle, which lives as long as the operand.
    static_cast<void>(task.set_sync_event(given.event.is_none()
                                              ? std::shared_ptr<SyncEventRemoteNet>()
                                              : given.event.cast<SyncEventRemoteNetObject&>().shared()));
  }
  answer_place_ = answer_place();
}

void RdmaTaskObject::set_connection(py::object connection) {
  require_idle("set connection");
  const auto& wanted = argument_of<RdmaConnectionObject>(connection.ptr(), "a pydoca.RdmaConnection");
  const Status status = rdma_slot().set_connection(wanted.shared());
  if (status != Status::success) {
    raise(status, "set connection of " + describe() + ": " +
                      (kind_ == RdmaTaskKind::receive ? "it takes the messages of every connection"
                                                      : wanted.describe() + " is another context's"));
  }
  keep_connection(std::move(connection));
}

void RdmaTaskObject::completed(Status status) {
  succeeded_ = status == Status::success;
  has_answer_ = succeeded_ && answer_place_ != nullptr;
  if (has_answer_) {
    std::memcpy(&answer_, answer_place_, sizeof answer_);
  }
  if (!succeeded_) {
    return;
  }
  const RdmaTask& task = rdma_slot();
  result_len_ = task.result_len();
  if (kind_ == RdmaTaskKind::receive) {
    opcode_ = task.result_opcode();
    immediate_ = be32toh(task.result_immediate_data());
    RdmaConnectionObject* const connection =
        task.connection() != nullptr ? RdmaConnectionObject::of(*task.connection()) : nullptr;
    keep_connection(connection != nullptr ? connection->self() : py::none());
  }
}

py::object RdmaTaskObject::result_len() const {
  const bool has =
      kind_ == RdmaTaskKind::receive || kind_ == RdmaTaskKind::read || kind_ == RdmaTaskKind::remote_net_sync_event_get;
  return has && succeeded_ ? to_python(result_len_) : py::none();
}

py::object RdmaTaskObject::result_opcode() const {
  return kind_ == RdmaTaskKind::receive && succeeded_ ? py::cast(opcode_) : py::none();
}

py::object RdmaTaskObject::result_immediate_data() const {
  const bool has = kind_ == RdmaTaskKind::receive && opcode_ != RdmaOpcode::recv_send;
  return has && succeeded_ ? to_python(std::uint64_t{immediate_}) : py::none();
}

py::object RdmaTaskObject::value() const {
  if (traits().answers_word) {
    return has_answer_ ? to_python(answer_) : py::none();
  }
  return result_len();
}

bool RdmaTaskObject::may_be_dropped() const noexcept {
  // A receive that no message has used comes back when its context stops.
  return kind_ == RdmaTaskKind::receive && slot() != nullptr && slot()->status() == Status::shutdown;
}

void RdmaTaskObject::clear() {
  answer_place_ = nullptr;
  succeeded_ = has_answer_ = false;
  LibraryTaskObject::clear();
}

}  // namespace pydoca::bindings
