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

using Setter = std::pair<const char*, Set>;
constexpr std::array<Setter, 13> setters{{
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

constexpr auto kinds = [] {
  std::array<RdmaTaskKind, num_rdma_task_kinds> all{};
  for (std::size_t kind = 0; kind < all.size(); ++kind) all[kind] = static_cast<RdmaTaskKind>(kind);
  return all;
}();

}  // namespace

void apply_settings(Rdma& rdma, const py::kwargs& given) {
  for (const auto& [name, set] : setters) {
    const py::object value = keyword(given, name);
    if (!value.is_none()) set(rdma, value, name);
  }
}

void apply_setting(Rdma& rdma, std::string_view name, py::handle value) {
  std::ranges::find(setters, name, &Setter::first)->second(rdma, value, name);
}

void configure_tasks(Rdma& rdma, const py::object& num_tasks) {
  const auto is_supported = [&](RdmaTaskKind kind) { return Rdma::is_task_supported(rdma.device()->info(), kind); };
  each_num_tasks(num_tasks, kinds, is_supported, to_rdma_task, [&](RdmaTaskKind kind, py::handle count) {
    const DeviceInfo& info = rdma.device()->info();
    const std::uint32_t most =
        kind == RdmaTaskKind::receive ? Rdma::max_recv_queue_size(info) : Rdma::max_send_queue_size(info);
    const std::string what = "num_tasks of " + std::string(name_of(kind));
    rdma.set_conf(kind, TaskObject::on_complete, TaskObject::on_complete, to_u32(count, what, 1, most));
  });
}

RdmaTaskKind to_rdma_task(const std::string& name) { return to_kind(name, kinds, "rdma task"); }

std::uint16_t to_port(py::handle value) { return static_cast<std::uint16_t>(to_u32(value, "port", 1, UINT16_MAX)); }

}  // namespace pydoca::bindings
