#include "rdma/rdma_task_object.hpp"

#include "call/raw_method.hpp"
#include "convert/convert.hpp"
#include "memory/buf_object.hpp"
#include "memory/sync_event_remote_net.hpp"
#include "rdma/rdma_connection_object.hpp"

#include <array>
#include <bit>
#include <cstring>
#include <endian.h>
#include <span>
#include <string_view>
#include <utility>

namespace pydoca::bindings {

namespace {

void give_event(RdmaTask& task, const py::object& event) {
  // Shares the Python object's handle, which lives as long as the operand.
  static_cast<void>(task.set_sync_event(!event || event.is_none() ? std::shared_ptr<SyncEventRemoteNet>()
                                                                  : event.cast<SyncEventRemoteNetObject&>().shared()));
}

/// Gives the slot the operand at that place, by the library's setter of its name.
template <RdmaTaskKind kind, std::size_t place>
void give(RdmaTask& task, const OperandValue& value) {
  constexpr std::string_view name = traits_of(kind).operands[place].name;
  if constexpr (name == "src") {
    static_cast<void>(task.set_src_buf(element_of(value.object)));
  } else if constexpr (name == "dst") {
    static_cast<void>(task.set_dst_buf(element_of(value.object)));
  } else if constexpr (name == "result") {
    static_cast<void>(task.set_result_buf(element_of(value.object)));
  } else if constexpr (name == "event") {
    give_event(task, value.object);
  } else if constexpr (name == "immediate_data") {
    static_cast<void>(task.set_immediate_data(htobe32(static_cast<std::uint32_t>(value.number))));
  } else if constexpr (name == "cmp_data") {
    static_cast<void>(task.set_cmp_data(value.number));
  } else if constexpr (name == "swap_data") {
    static_cast<void>(task.set_swap_data(value.number));
  } else {
    static_assert(name == "add_data");
    static_cast<void>(task.set_add_data(value.number));
  }
}

template <RdmaTaskKind kind>
void give_all(RdmaTask& task, std::span<const OperandValue> operands) {
  [&]<std::size_t... place>(std::index_sequence<place...>) {
    (give<kind, place>(task, operands[place]), ...);
  }(std::make_index_sequence<traits_of(kind).operands.size()>());
}

/// The function of each kind of task.
constexpr auto give_operands = []<std::size_t... kind>(std::index_sequence<kind...>) {
  return std::array{&give_all<static_cast<RdmaTaskKind>(kind)>...};
}(std::make_index_sequence<num_rdma_task_kinds>());

}  // namespace

RdmaTaskObject::RdmaTaskObject(py::object context, RdmaTask& slot)
    : LibraryTaskObject(std::move(context), slot, static_cast<std::size_t>(slot.kind()), traits_of(slot.kind()), room_),
      kind_(slot.kind()) {}

const void* RdmaTaskObject::answer_place() const {
  if (!traits().answers_word) {
    return nullptr;
  }
  const Buf* const buf = element_of(operand(traits().find(OperandType::target)).object);
  const bool here = buf != nullptr && !buf->mmap()->is_from_export();
  return here ? std::bit_cast<const void*>(buf->data() + buf->data_len()) : nullptr;
}

void RdmaTaskObject::set_operands() {
  RdmaTask& task = rdma_slot();
  if (kind_ != RdmaTaskKind::receive) {
    static_cast<void>(task.set_connection(connection_.cast<RdmaConnectionObject&>().shared()));
  }
  give_operands[static_cast<std::size_t>(kind_)](task, operands());
  answer_place_ = answer_place();
  LibraryTaskObject::set_operands();
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
  const py::object dropped = std::exchange(connection_, std::move(connection));
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
    const py::object dropped = std::exchange(connection_, connection != nullptr ? connection->self() : py::none());
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

void RdmaTaskObject::each_reference(References& references) {
  references.keep(connection_);
  LibraryTaskObject::each_reference(references);
}

void RdmaTaskObject::clear() {
  const py::object dropped = std::exchange(connection_, py::none());
  answer_place_ = nullptr;
  succeeded_ = has_answer_ = false;
  LibraryTaskObject::clear();
}

}  // namespace pydoca::bindings
