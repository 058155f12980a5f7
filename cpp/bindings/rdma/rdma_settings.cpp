#include "rdma/rdma_settings.hpp"

#include "call/keywords.hpp"
#include "convert/convert.hpp"
#include "convert/parse.hpp"
#include "task/task_object.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

namespace pydoca::bindings {

namespace {

using Set = void (*)(Rdma& rdma, py::handle value, std::string_view name);

template <auto setter, class Number>
void set_number(Rdma& rdma, py::handle value, std::string_view name) {
  (rdma.*setter)(static_cast<Number>(to_u32(value, name, 0, std::numeric_limits<Number>::max())));
}

constexpr std::array<std::pair<const char*, Set>, 13> setters{{
    {"send_queue_size", set_number<&Rdma::set_send_queue_size, std::uint32_t>},
    {"recv_queue_size", set_number<&Rdma::set_recv_queue_size, std::uint32_t>},
    {"max_send_buf_list_len", set_number<&Rdma::set_max_send_buf_list_len, std::uint32_t>},
    {"receive_dst_buf_list_len", set_number<&Rdma::set_receive_dst_buf_list_len, std::uint32_t>},
    {"transport_type",
     [](Rdma& rdma, py::handle value, std::string_view) { rdma.set_transport_type(to_transport(value)); }},
    {"mtu", [](Rdma& rdma, py::handle value, std::string_view) { rdma.set_mtu(to_mtu(value)); }},
    {"permissions", [](Rdma& rdma, py::handle value, std::string_view) { rdma.set_permissions(to_access(value)); }},
    {"grh_enabled",
     [](Rdma& rdma, py::handle value, std::string_view name) { rdma.set_grh_enabled(to_bool(value, name)); }},
    {"gid_index", set_number<&Rdma::set_gid_index, std::uint32_t>},
    {"sl", set_number<&Rdma::set_sl, std::uint32_t>},
    {"connection_request_timeout", set_number<&Rdma::set_connection_request_timeout, std::uint16_t>},
    {"max_num_connections", set_number<&Rdma::set_max_num_connections, std::uint32_t>},
    {"rnr_retry_count", set_number<&Rdma::set_rnr_retry_count, std::uint32_t>},
}};

void configure(Rdma& rdma, RdmaTaskKind kind, py::handle count) {
  rdma.set_conf(kind, TaskObject::on_complete, TaskObject::on_complete, to_u32(count, "num_tasks"));
}

}  // namespace

void apply_settings(Rdma& rdma, const py::kwargs& given) {
  for (const auto& [name, set] : setters) {
    const py::object value = keyword(given, name);
    if (!value.is_none()) set(rdma, value, name);
  }
}

void configure_tasks(Rdma& rdma, const py::object& num_tasks) {
  if (py::isinstance<py::dict>(num_tasks)) {
    for (const auto& [name, count] : py::reinterpret_borrow<py::dict>(num_tasks)) {
      configure(rdma, to_rdma_task(to_task_name(name)), count);
    }
    return;
  }
  for (std::size_t kind = 0; kind < num_rdma_task_kinds; ++kind) {
    const auto task = static_cast<RdmaTaskKind>(kind);
    if (Rdma::is_task_supported(rdma.device()->info(), task)) configure(rdma, task, num_tasks);
  }
}

RdmaTaskKind to_rdma_task(const std::string& name) {
  std::vector<std::string_view> known;
  for (std::size_t kind = 0; kind < num_rdma_task_kinds; ++kind) {
    known.push_back(name_of(static_cast<RdmaTaskKind>(kind)));
    if (known.back() == name) return static_cast<RdmaTaskKind>(kind);
  }
  refuse_word("rdma task", name, known);
}

RdmaTransport to_transport(py::handle value) {
  if (py::isinstance<RdmaTransport>(value)) return value.cast<RdmaTransport>();
  if (!py::isinstance<py::str>(value)) refuse_type("transport_type", "a str or an enumerator", value);
  const std::string name = to_utf8(value);
  if (name == "rc") return RdmaTransport::rc;
  if (name == "dc") return RdmaTransport::dc;
  refuse_word("transport type", name, {"rc", "dc"});
}

RdmaAddressType to_address_type(py::handle value) {
  if (!py::isinstance<py::str>(value)) refuse_type("address_type", "a str", value);
  const std::string name = to_utf8(value);
  if (name == "ipv4") return RdmaAddressType::ipv4;
  if (name == "ipv6") return RdmaAddressType::ipv6;
  if (name == "gid") return RdmaAddressType::gid;
  refuse_word("address type", name, {"ipv4", "ipv6", "gid"});
}

std::uint16_t to_port(py::handle value) { return static_cast<std::uint16_t>(to_u32(value, "port", 1, UINT16_MAX)); }

}  // namespace pydoca::bindings
