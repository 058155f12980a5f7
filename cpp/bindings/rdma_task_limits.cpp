#include "rdma_task_limits.hpp"

#include "buf_object.hpp"
#include "rdma_connection_object.hpp"
#include "sync_event_object.hpp"

#include <cstdint>

namespace pydoca::bindings {

namespace py = pybind11;

namespace {

constexpr std::uint64_t word_size = sizeof(std::uint64_t);

struct Operand {
  const char* name;
  Buf* buf;  ///< null: none

  std::uint64_t data_len() const { return buf != nullptr ? buf->list_data_len() : 0; }
  std::uint64_t tailroom() const { return buf != nullptr ? buf->list_tailroom() : 0; }
};

std::string bytes(std::uint64_t count) { return std::to_string(count) + (count == 1 ? " byte" : " bytes"); }

std::string describe(const Operand& operand) {
  return operand.buf == nullptr ? std::string(operand.name) + " is None"
                                : std::string(operand.name) + " has " + bytes(operand.data_len()) + " of data and " +
                                      bytes(operand.tailroom()) + " of tailroom";
}

/// One submission's operands, looked at in the order in which the engine does: RdmaTask::validate().
class Look {
 public:
  Look(const Rdma& rdma, RdmaTaskKind kind, const RdmaOperands& operands)
      : rdma_(rdma),
        kind_(kind),
        operands_(operands),
        src_{"src", element_of(operands.src)},
        dst_{"dst", element_of(operands.dst)},
        result_{"result", element_of(operands.result)} {}

  /// Empty when nothing is wrong.
  std::string violation() const {
    if (is_elsewhere()) {
      return "the connection is another context's, or has ended";
    }
    for (const auto check : {&Look::local, &Look::event, &Look::length, &Look::room, &Look::word}) {
      if (std::string found = (this->*check)(); !found.empty()) return found;
    }
    const bool has_remote = kind_ == RdmaTaskKind::read || is_write() || is_atomic();
    return has_remote ? unreachable(kind_ == RdmaTaskKind::read ? src_ : dst_) : std::string();
  }

  std::string sizes() const { return pydoca::bindings::describe(src_) + ", " + pydoca::bindings::describe(dst_); }

 private:
  bool is_write() const { return kind_ == RdmaTaskKind::write || kind_ == RdmaTaskKind::write_imm; }
  bool is_atomic() const { return kind_ == RdmaTaskKind::atomic_cmp_swp || kind_ == RdmaTaskKind::atomic_fetch_add; }
  bool is_of_event() const { return kind_ >= RdmaTaskKind::remote_net_sync_event_get; }
  bool sets() const { return kind_ == RdmaTaskKind::remote_net_sync_event_notify_set; }
  bool receives() const { return kind_ == RdmaTaskKind::receive; }
  bool answers_word() const { return kind_ > RdmaTaskKind::write_imm && !sets(); }

  /// What lies on this side.
  const Operand& here() const {
    if (is_atomic() || kind_ == RdmaTaskKind::remote_net_sync_event_notify_add) {
      return result_;
    }
    const bool fills = receives() || kind_ == RdmaTaskKind::read || kind_ == RdmaTaskKind::remote_net_sync_event_get;
    return fills ? dst_ : src_;
  }

  bool is_elsewhere() const {
    return !receives() && operands_.connection.cast<RdmaConnectionObject&>().shared()->rdma() != &rdma_;
  }

  std::string local() const {
    const Operand& here = this->here();
    if (here.buf == nullptr) {
      return kind_ > RdmaTaskKind::write_imm ? std::string(here.name) + " must be a Buf, and is None" : "";
    }
    if (!here.buf->is_first()) {
      return std::string(here.name) + " is a later element of a list; give the list's first";
    }
    if (std::string found = too_many(here); !found.empty()) return found;
    if (std::string found = unreachable(here); !found.empty()) return found;
    const bool full = answers_word() && here.buf->tailroom() < word_size;
    return full ? std::string(here.name) + " has " + bytes(here.buf->tailroom()) +
                      " of tailroom, and 8 bytes are answered"
                : "";
  }

  std::string too_many(const Operand& here) const {
    const std::uint32_t most = receives() ? rdma_.receive_dst_buf_list_len() : rdma_.max_send_buf_list_len();
    const char* const setting = receives() ? "receive_dst_buf_list_len" : "max_send_buf_list_len";
    return here.buf->num_elements() > most
               ? std::string(here.name) + " is a list of " + std::to_string(here.buf->num_elements()) + " bufs, and " +
                     setting + " is " + std::to_string(most)
               : "";
  }

  std::string unreachable(const Operand& operand) const {
    const Device& device = *rdma_.device();
    for (Buf* element = operand.buf; element != nullptr; element = element->next()) {
      if (element->segment().regions[device.ordinal()] == nullptr) {
        return std::string(operand.name) + " lies in a memory map that " + device.info().name() +
               " was not added to; map it with that device";
      }
    }
    return "";
  }

  std::string event() const {
    if (!is_of_event()) {
      return "";
    }
    if (sets() && src_.data_len() != word_size) {
      return "src has " + bytes(src_.data_len()) + " of data, and a sync event's value has 8";
    }
    if (operands_.event.is_none()) {
      return "event must be a SyncEventRemoteNet, and is None";
    }
    return operands_.event.cast<SyncEventRemoteNetObject&>().is_closed() ? "the sync event is closed; import another"
                                                                         : "";
  }

  /// What is moved.
  std::uint64_t size() const {
    if (kind_ == RdmaTaskKind::read) {
      return src_.buf != nullptr ? src_.buf->data_len() : 0;
    }
    return src_.data_len();
  }

  std::string length() const {
    const DeviceInfo& info = rdma_.device()->info();
    const std::uint64_t most = Rdma::max_message_size(info);
    return size() > most ? "src has " + bytes(size()) + " of data, and " + info.name() + " moves at most " +
                               std::to_string(most) + " at once (max_message_size)"
                         : "";
  }

  std::string room() const {
    if (kind_ != RdmaTaskKind::read && !is_write()) {
      return "";
    }
    const std::uint64_t room = is_write() && dst_.buf != nullptr ? dst_.buf->tailroom() : dst_.tailroom();
    if (size() <= room) {
      return "";
    }
    return "src has " + bytes(size()) + " of data, and dst " +
           (dst_.buf == nullptr ? "is None" : "has " + bytes(room) + " of tailroom");
  }

  /// Which an atomic changes.
  std::string word() const {
    if (!is_atomic()) {
      return "";
    }
    if (dst_.buf == nullptr) {
      return "dst must be a Buf, and is None";
    }
    const Buf& there = *dst_.buf;
    const std::uint64_t left = there.head() + there.len() - there.data();
    if (left < word_size) {
      return "dst has " + bytes(left) + " from its data on, and an atomic changes 8";
    }
    return there.data() % word_size != 0
               ? "dst's data is at " + py::str("{:#x}").format(there.data()).cast<std::string>() +
                     ", and an atomic's 8 bytes begin at a multiple of 8"
               : "";
  }

  const Rdma& rdma_;
  const RdmaTaskKind kind_;
  const RdmaOperands& operands_;
  const Operand src_;
  const Operand dst_;
  const Operand result_;
};

}  // namespace

std::string describe_violation(const Rdma& rdma, RdmaTaskKind kind, const RdmaOperands& operands) {
  const Look look(rdma, kind, operands);
  const std::string found = look.violation();
  return found.empty() ? "the device does not take it: " + look.sizes() : found;
}

}  // namespace pydoca::bindings
