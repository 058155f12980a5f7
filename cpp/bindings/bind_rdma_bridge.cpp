#include <pydoca/rdma_bridge.hpp>

#include "bindings.hpp"
#include "buf_object.hpp"
#include "convert.hpp"
#include "device_object.hpp"
#include "mmap_object.hpp"
#include "parse.hpp"

#include <bit>
#include <cstdint>
#include <memory>

namespace pydoca::bindings {

namespace py = pybind11;
using namespace py::literals;

namespace {

constexpr const char* capsule_name = "ibv_pd";

/// The address of a struct ibv_pd: an int, or a capsule of that name.
void* to_domain(const py::object& pd) {
  if (PyCapsule_CheckExact(pd.ptr()) == 0) {
    return std::bit_cast<void*>(static_cast<std::uintptr_t>(to_u64(pd, "pd")));
  }
  void* const domain = PyCapsule_GetPointer(pd.ptr(), capsule_name);
  if (domain == nullptr) throw py::error_already_set();
  return domain;
}

py::int_ get_dev_pd(const py::object& device) {
  return {std::bit_cast<std::uintptr_t>(rdma_bridge::get_dev_pd(*to_device(device).get()))};
}

std::unique_ptr<DeviceObject> open_dev_from_pd(const py::object& pd) {
  return std::make_unique<DeviceObject>(rdma_bridge::open_dev_from_pd(to_domain(pd)));
}

std::uint32_t get_buf_mkey(const BufObject& buf, const py::object& device) {
  return rdma_bridge::get_buf_mkey(buf.get(), *to_device(device).get());
}

std::uint32_t get_mmap_mkey_from_pd(const MmapObject& mmap, const py::object& pd) {
  return rdma_bridge::get_mmap_mkey_from_pd(*mmap.get(), to_domain(pd));
}

}  // namespace

void bind_rdma_bridge(py::module_& module) {
  module.def("rdma_bridge_get_dev_pd", &get_dev_pd, "dev"_a,
             "The address of the device's struct ibv_pd, which stays until it is closed. Raises NotSupportedError off "
             "rdma-core (doca_rdma_bridge_get_dev_pd).");
  module.def("rdma_bridge_open_dev_from_pd", &open_dev_from_pd, "pd"_a,
             "A device of an application's protection domain, given by its address, as an int or a capsule named "
             "ibv_pd; whoever made that\nkeeps it until all that was made of it is closed. Raises InvalidValueError "
             "for 0 (doca_rdma_bridge_open_dev_from_pd).");
  module.def("rdma_bridge_get_buf_mkey", &get_buf_mkey, "buf"_a, "dev"_a,
             "The key of buf's memory on the device, for local and remote access. Raises NotFoundError, "
             "NotSupportedError\n(doca_rdma_bridge_get_buf_mkey).");
  module.def("rdma_bridge_get_mmap_mkey_from_pd", &get_mmap_mkey_from_pd, "mmap"_a, "pd"_a,
             "The same of a whole map, by the protection domain of one of its devices "
             "(doca_rdma_bridge_get_mmap_mkey_from_pd).");
}

}  // namespace pydoca::bindings
