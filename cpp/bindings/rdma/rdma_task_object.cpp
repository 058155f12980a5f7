#include "rdma/rdma_task_object.hpp"

#include "convert/collectable.hpp"
#include "convert/convert.hpp"
#include "memory/buf_object.hpp"
#include "rdma/rdma_connection_object.hpp"
#include "sync_event/sync_event_object.hpp"

#include <array>
#include <bit>
#include <cstring>
#include <endian.h>
#include <utility>

namespace pydoca::bindings {

namespace py = pybind11;

namespace {

py::object to_int(std::uint64_t value) { return py::reinterpret_steal<py::object>(PyLong_FromUnsignedLongLong(value)); }

}  // namespace

void RdmaOperands::require_types() const {
  for (const py::object* const buf : {&src, &dst, &result}) static_cast<void>(element_of(*buf));
  if (!event.is_none() && !py::isinstance<SyncEventRemoteNetObject>(event)) {
    throw py::type_error("a pydoca.SyncEventRemoteNet is needed, not " +
                         py::type::handle_of(event).attr("__name__").cast<std::string>() +
                         "; Device.import_sync_event_remote_net() gives one");
  }
}

RdmaTaskObject::RdmaTaskObject(py::object context, RdmaTask& slot)
    : TaskObject(std::move(context), slot), kind_(slot.kind()) {}

void RdmaTaskObject::set_buf(py::object RdmaOperands::* which, py::object buf, const char* name) {
  require_idle(std::string("set ") + name);
  Buf* const element = element_of(buf);
  const Status status = which == &RdmaOperands::src   ? rdma_slot().set_src_buf(element)
                        : which == &RdmaOperands::dst ? rdma_slot().set_dst_buf(element)
                                                      : rdma_slot().set_result_buf(element);
  if (status != Status::success) {
    raise(status, std::string("set ") + name + ": " + describe() + " has none");
  }
  operands_.*which = std::move(buf);
}

void RdmaTaskObject::set_number(std::uint64_t RdmaOperands::* which, std::uint64_t value, const char* name) {
  require_idle(std::string("set ") + name);
  operands_.*which = value;
}

void RdmaTaskObject::set_immediate(std::uint32_t value) {
  require_idle("set immediate_data");
  operands_.immediate = value;
}

std::vector<const Buf*> RdmaTaskObject::lent_bufs() const {
  std::vector<const Buf*> lists;
  for (const py::object* const buf : {&operands_.src, &operands_.dst, &operands_.result}) {
    const Buf* const list = element_of(*buf);
    if (list != nullptr && !list->mmap()->is_from_export()) lists.push_back(list);
  }
  return lists;
}

const void* RdmaTaskObject::answer_place() const {
  if (!traits_of(kind_).answers_word) {
    return nullptr;
  }
  const Buf* const buf = element_of(traits_of(kind_).fills == Operand::dst ? operands_.dst : operands_.result);
  const bool here = buf != nullptr && !buf->mmap()->is_from_export();
  return here ? std::bit_cast<const void*>(buf->data() + buf->data_len()) : nullptr;
}

void RdmaTaskObject::set_operands() {
  Buf* const src = element_of(operands_.src);
  RdmaTask& task = rdma_slot();
  length_ = src != nullptr ? src->list_data_len() : 0;
  // What the kind has not is None here, and refused there.
  static_cast<void>(task.set_src_buf(src));
  static_cast<void>(task.set_dst_buf(element_of(operands_.dst)));
  if (kind_ != RdmaTaskKind::receive) {
    set_remote_operands();
  }
}

void RdmaTaskObject::set_remote_operands() {
  RdmaTask& task = rdma_slot();
  const auto& connection = operands_.connection.cast<RdmaConnectionObject&>();
  static_cast<void>(task.set_connection(connection.shared()));
  static_cast<void>(task.set_immediate_data(htobe32(operands_.immediate)));
  if (kind_ < RdmaTaskKind::atomic_cmp_swp) {
    return;
  }
  static_cast<void>(task.set_result_buf(element_of(operands_.result)));
  static_cast<void>(task.set_cmp_data(operands_.compare));
  static_cast<void>(task.set_swap_data(operands_.operand));
  static_cast<void>(task.set_add_data(operands_.operand));
  if (traits_of(kind_).has(Operand::event)) {
    const bool given = !operands_.event.is_none();
    // Shares the Python object's handle, which lives as long as the operand does.
    static_cast<void>(task.set_sync_event(given ? operands_.event.cast<SyncEventRemoteNetObject&>().shared()
                                                : std::shared_ptr<SyncEventRemoteNet>()));
  }
  answer_place_ = answer_place();
}

void RdmaTaskObject::forget_operands() noexcept {
  // The connection stays, for those who look at what came.
  const RdmaOperands dropped = std::exchange(operands_, RdmaOperands{.connection = operands_.connection});
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
    operands_.connection = connection != nullptr ? connection->self() : py::none();
  }
}

py::object RdmaTaskObject::result_len() const {
  const bool has =
      kind_ == RdmaTaskKind::receive || kind_ == RdmaTaskKind::read || kind_ == RdmaTaskKind::remote_net_sync_event_get;
  return has && succeeded_ ? to_int(result_len_) : py::none();
}

py::object RdmaTaskObject::result_opcode() const {
  return kind_ == RdmaTaskKind::receive && succeeded_ ? py::cast(opcode_) : py::none();
}

py::object RdmaTaskObject::result_immediate_data() const {
  const bool has = kind_ == RdmaTaskKind::receive && opcode_ != RdmaOpcode::recv_send;
  return has && succeeded_ ? to_int(immediate_) : py::none();
}

py::object RdmaTaskObject::value() const {
  if (traits_of(kind_).answers_word) {
    return has_answer_ ? to_int(answer_) : py::none();
  }
  return result_len();
}

bool RdmaTaskObject::may_be_dropped() const noexcept {
  // One that nobody used comes back when its context stops.
  return kind_ == RdmaTaskKind::receive && slot() != nullptr && slot()->status() == Status::shutdown;
}

std::string RdmaTaskObject::describe() const {
  const std::string name = "rdma " + std::string(name_of(kind_));
  return length_ != 0 ? name + " of " + std::to_string(length_) + " bytes" : name;
}

int RdmaTaskObject::traverse(visitproc visit, void* arg) const {
  const std::array refs{operands_.connection, operands_.src, operands_.dst, operands_.result, operands_.event};
  const int stop = visit_refs(refs, visit, arg);
  return stop != 0 ? stop : TaskObject::traverse(visit, arg);
}

void RdmaTaskObject::clear() {
  // In flight it is no garbage, and without a flight the engine does not use the operands.
  const RdmaOperands dropped = std::exchange(operands_, {});
  length_ = 0;
  answer_place_ = nullptr;
  succeeded_ = has_answer_ = false;
  TaskObject::clear();
}

}  // namespace pydoca::bindings
