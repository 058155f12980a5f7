#include "pydoca/device_properties.hpp"

#include "core/task_pool.hpp"
#include "detail/concat.hpp"
#include "detail/text/enumerators.hpp"
#include "library/rdma/rdma.hpp"

#include <bit>

namespace pydoca {

namespace {

using detail::concat;

static_assert(Rdma::retry_for_ever == backend::rnr_retry_for_ever);

constexpr Access rdma_flags = Access::rdma_read | Access::rdma_write | Access::rdma_atomic;

const RdmaCapabilities& rdma_capabilities(const DeviceInfo& info) {
  if (!info.capabilities().rdma) {
    throw Error(Status::not_supported,
                concat("rdma: ", info.name(), " has none: ", std::string_view(info.capabilities().no_rdma)));
  }
  return *info.capabilities().rdma;
}

template <class Number>
void require_supported(std::string_view what, Number value, Number least, Number most) {
  if (value < least || value > most) {
    throw Error(value < least ? Status::invalid_value : Status::not_supported,
                concat(what, ": ", +value, " is not in ", +least, "..", +most));
  }
}

std::uint32_t limit_of(const DeviceInfo& info, RdmaTaskKind kind) {
  return kind == RdmaTaskKind::receive ? rdma_capabilities(info).max_recv_queue_size
                                       : rdma_capabilities(info).max_send_queue_size;
}

}  // namespace

bool Rdma::is_supported(const DeviceInfo& info) noexcept { return info.capabilities().rdma.has_value(); }
bool Rdma::is_task_supported(const DeviceInfo& info, RdmaTaskKind kind) noexcept {
  return detail::is_one_of(kind, RdmaTaskKind::remote_net_sync_event_notify_add) && is_supported(info) &&
         info.capabilities().rdma->no_opcode[static_cast<std::size_t>(kind)].empty();
}
bool Rdma::is_transport_type_supported(const DeviceInfo& info, RdmaTransport transport) noexcept {
  return detail::is_one_of(transport, RdmaTransport::dc) && is_supported(info) &&
         (transport == RdmaTransport::rc || info.capabilities().rdma->no_dynamically_connected.empty());
}
bool Rdma::is_connection_manager_supported(const DeviceInfo& info) noexcept {
  return is_supported(info) && info.capabilities().rdma->no_connection_manager.empty();
}
std::uint32_t Rdma::max_send_queue_size(const DeviceInfo& info) { return rdma_capabilities(info).max_send_queue_size; }
std::uint32_t Rdma::max_recv_queue_size(const DeviceInfo& info) { return rdma_capabilities(info).max_recv_queue_size; }
std::uint32_t Rdma::max_send_buf_list_len(const DeviceInfo& info) {
  return rdma_capabilities(info).max_send_buf_list_len;
}
std::uint32_t Rdma::max_receive_dst_buf_list_len(const DeviceInfo& info, RdmaTransport transport) {
  detail::require_one_of("rdma", transport, RdmaTransport::dc, "transport");
  if (!is_transport_type_supported(info, transport)) {
    throw Error(Status::not_supported,
                concat("rdma: transport DC: ", rdma_capabilities(info).no_dynamically_connected));
  }
  return rdma_capabilities(info).max_recv_buf_list_len;
}
std::uint32_t Rdma::max_message_size(const DeviceInfo& info) { return rdma_capabilities(info).max_message_size; }
std::uint16_t Rdma::max_num_connections(const DeviceInfo& info) { return rdma_capabilities(info).max_num_connections; }
std::uint32_t Rdma::gid_table_size(const DeviceInfo& info) { return rdma_capabilities(info).gid_table_size; }

std::vector<Gid> Rdma::gids(const DeviceInfo& info, std::uint32_t start, std::uint32_t count) {
  const std::uint32_t size = gid_table_size(info);
  if (start > size || count > size - start) {
    throw Error(Status::invalid_value, concat("GIDs: entries ", start, "..", std::uint64_t{start} + count, " of ",
                                              info.name(), ": its table has ", size));
  }
  std::vector<Gid> table = rdma_capabilities(info).gids;
  table.resize(size);
  return {table.begin() + start, table.begin() + start + count};
}

void Rdma::set_conf(RdmaTaskKind kind, TaskCallback<RdmaTask> on_success, TaskCallback<RdmaTask> on_error,
                    std::uint32_t num_tasks) {
  detail::require_one_of("set conf", kind, RdmaTaskKind::remote_net_sync_event_notify_add, "kind of task");
  const std::string what = concat("set conf of ", name_of(kind));
  require_idle(what);
  if (!is_task_supported(device()->info(), kind)) {
    const auto& refusals = rdma_capabilities(device()->info()).no_opcode;
    throw Error(Status::not_supported, concat(what, ": ", refusals[static_cast<std::size_t>(kind)]));
  }
  detail::ContextTasks::pool(*this, static_cast<std::size_t>(kind))
      .configure(what, on_success, on_error, num_tasks, limit_of(device()->info(), kind));
}

void Rdma::set_connection_state_callbacks(ConnectionRequested request, ConnectionChanged established,
                                          ConnectionChanged failed, ConnectionChanged disconnected) {
  require_idle("set connection callbacks of");
  library::Rdma& own = library::of(*this);
  own.requested_ = request;
  own.established_ = established;
  own.failed_ = failed;
  own.disconnected_ = disconnected;
}

void Rdma::set_send_queue_size(std::uint32_t size) {
  require_idle("set send queue size of");
  require_supported("set send queue size", size, 1U, max_send_queue_size(device()->info()));
  library::of(*this).wanted_send_queue_size_ = library::of(*this).options_.send_queue_size = std::bit_ceil(size);
}

void Rdma::set_recv_queue_size(std::uint32_t size) {
  require_idle("set receive queue size of");
  throw Error(Status::not_supported, concat("set receive queue size to ", size,
                                            ": only for data paths on a GPU or DPA; on a CPU it is the number of "
                                            "receive tasks (set_conf)"));
}

void Rdma::set_max_send_buf_list_len(std::uint32_t elements) {
  require_idle("set max send buf list length of");
  require_supported("set max send buf list length", elements, 1U, max_send_buf_list_len(device()->info()));
  library::of(*this).options_.max_send_segments = elements;
}

void Rdma::set_receive_dst_buf_list_len(std::uint32_t elements) {
  require_idle("set receive buf list length of");
  require_supported("set receive buf list length", elements, 1U,
                    max_receive_dst_buf_list_len(device()->info(), RdmaTransport::rc));
  library::of(*this).options_.max_recv_segments = elements;
}

void Rdma::set_transport_type(RdmaTransport transport) {
  require_idle("set transport type of");
  detail::require_one_of("set transport type", transport, RdmaTransport::dc, "transport");
  if (transport != RdmaTransport::rc) {
    const std::string& refusal = rdma_capabilities(device()->info()).no_dynamically_connected;
    throw Error(Status::not_supported,
                concat("set transport type to DC: ", refusal.empty() ? "this engine connects by RC only" : refusal));
  }
}

void Rdma::set_mtu(MtuSize mtu) {
  require_idle("set MTU of");
  const MtuSize most = rdma_capabilities(device()->info()).max_mtu;
  if (mtu > MtuSize::bytes_4096) {
    throw Error(Status::invalid_value,
                concat("set MTU: ", static_cast<unsigned>(mtu), " is not a size for RDMA; 0..4"));
  }
  if (mtu > most) {
    throw Error(Status::not_supported, concat("set MTU: ", 256U << static_cast<unsigned>(mtu), " bytes, and ",
                                              device()->info().name(), " has ", 256U << static_cast<unsigned>(most)));
  }
  library::of(*this).options_.mtu = mtu;
}

void Rdma::set_permissions(Access permissions) {
  require_idle("set permissions of");
  const Access known = rdma_flags | Access::local_read_write;
  if ((permissions & known) != permissions) {
    throw Error(Status::invalid_value,
                concat("set permissions: ", detail::hex(static_cast<std::uint32_t>(permissions)),
                       " has other flags than rdma_read, rdma_write, rdma_atomic and local_read_write"));
  }
  library::of(*this).permissions_ = permissions;
  library::of(*this).options_.permissions = permissions & rdma_flags;
}

void Rdma::set_grh_enabled(bool enabled) {
  require_idle("set GRH of");
  if (!enabled && !device()->info().properties().lid.has_value()) {
    throw Error(Status::not_supported,
                concat("set GRH: ", device()->info().name(), " is on Ethernet, where every packet has one"));
  }
  library::of(*this).options_.grh_enabled = enabled;
}

void Rdma::set_gid_index(std::uint32_t index) {
  require_idle("set GID index of");
  const std::vector<Gid>& gids = rdma_capabilities(device()->info()).gids;
  if (index >= gids.size()) {
    throw Error(Status::invalid_value, concat("set GID index: ", index, " is not in 0..", gids.size() - 1,
                                              ", the entries that ", device()->info().name(), " has set"));
  }
  library::of(*this).options_.gid_index = index;
}

void Rdma::set_sl(std::uint32_t service_level) {
  require_idle("set service level of");
  if (service_level > 15) {
    throw Error(Status::invalid_value, concat("set service level: ", service_level, " is not in 0..15"));
  }
  library::of(*this).options_.service_level = service_level;
}

void Rdma::set_connection_request_timeout(std::uint16_t milliseconds) {
  require_idle("set connection request timeout of");
  if (milliseconds == 0) {
    throw Error(Status::invalid_value, "set connection request timeout: 0 ms is too short; 1..65535");
  }
  library::of(*this).options_.connection_request_timeout = std::chrono::milliseconds(milliseconds);
}

void Rdma::set_max_num_connections(std::uint32_t count) {
  require_idle("set max number of connections of");
  const std::uint16_t most = max_num_connections(device()->info());
  if (count == 0 || count > most) {
    throw Error(Status::not_supported, concat("set max number of connections: ", count, " is not in 1..", most));
  }
  library::of(*this).options_.max_num_connections = static_cast<std::uint16_t>(count);
}

void Rdma::set_rnr_retry_count(std::uint32_t count) {
  require_idle("set RNR retry count of");
  if (count > retry_for_ever) {
    throw Error(Status::invalid_value, concat("set RNR retry count: ", count, " is not in 0..7, and 7 is for ever"));
  }
  library::of(*this).options_.rnr_retry_count = static_cast<std::uint8_t>(count);
}

std::uint32_t Rdma::num_tasks(RdmaTaskKind kind) const noexcept {
  return detail::is_one_of(kind, RdmaTaskKind::remote_net_sync_event_notify_add)
             ? detail::ContextTasks::pool(*this, static_cast<std::size_t>(kind)).num_tasks()
             : 0;
}

std::uint32_t Rdma::send_queue_size() const noexcept { return library::of(*this).options_.send_queue_size; }
std::uint32_t Rdma::recv_queue_size() const noexcept { return library::of(*this).options_.recv_queue_size; }
std::uint32_t Rdma::max_send_buf_list_len() const noexcept { return library::of(*this).options_.max_send_segments; }
std::uint32_t Rdma::receive_dst_buf_list_len() const noexcept { return library::of(*this).options_.max_recv_segments; }
MtuSize Rdma::mtu() const noexcept { return library::of(*this).options_.mtu; }
Access Rdma::permissions() const noexcept { return library::of(*this).permissions_; }
bool Rdma::grh_enabled() const noexcept { return library::of(*this).options_.grh_enabled; }
std::uint32_t Rdma::gid_index() const noexcept { return library::of(*this).options_.gid_index; }
std::uint32_t Rdma::sl() const noexcept { return library::of(*this).options_.service_level; }
std::uint16_t Rdma::max_num_connections() const noexcept { return library::of(*this).options_.max_num_connections; }
std::uint8_t Rdma::rnr_retry_count() const noexcept { return library::of(*this).options_.rnr_retry_count; }
std::uint16_t Rdma::connection_request_timeout() const noexcept {
  return static_cast<std::uint16_t>(library::of(*this).options_.connection_request_timeout.count());
}

}  // namespace pydoca
