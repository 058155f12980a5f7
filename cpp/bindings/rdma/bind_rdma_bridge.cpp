#include <pydoca/rdma_bridge.hpp>

#include "convert/bindings.hpp"
#include "convert/convert.hpp"
#include "convert/parse.hpp"
#include "device/device_object.hpp"
#include "memory/buf_object.hpp"
#include "memory/mmap_object.hpp"

#include <bit>
#include <cstdint>
#include <memory>

namespace pydoca::bindings {

namespace {

constexpr const char* capsule_name = "ibv_pd";

/// A program with an object of one of pyverbs' classes has imported the module of that class.
bool is_of_pyverbs(py::handle object, const char* module, const char* name) {
  const auto found = py::reinterpret_steal<py::object>(PyImport_GetModule(py::str(module).ptr()));
  return found && py::isinstance(object, found.attr(name));
}

/// A pyverbs PD refers to its context until it is closed. Its properties would read from address 0 after that.
bool is_closed(const py::object& pd) {
  bool has_context = false;
  const auto look = [](PyObject* referent, void* found) {
    *static_cast<bool*>(found) |= is_of_pyverbs(referent, "pyverbs.device", "Context");
    return 0;
  };
  const traverseproc traverse = Py_TYPE(pd.ptr())->tp_traverse;
  if (traverse != nullptr) traverse(pd.ptr(), look, &has_context);
  return !has_context;
}

/// no_object points to a struct, not to a Python object: a reference count was added to its first word, a pointer to a
/// context. Since 3.12 Python subtracts it again for some values only; but it changes only bits that are 0 in a
/// pointer.
void* to_place(PyObject* no_object) {
  Py_DECREF(no_object);
  auto* const word = reinterpret_cast<std::uintptr_t*>(no_object);
  *word &= ~std::uintptr_t{alignof(void*) - 1};
  return word;
}

/// PD.pd is an int in pyverbs since 2025. Before, pyverbs returned the struct itself as if it were an object.
void* to_domain_of_pyverbs(const py::object& pd) {
  if (is_closed(pd)) raise(Status::invalid_value, "pd: this PD of pyverbs is closed");
  PyObject* const value = PyObject_GetAttrString(pd.ptr(), "pd");
  if (value == nullptr) throw py::error_already_set();
  if (PyLong_CheckExact(value) == 0) return to_place(value);
  return std::bit_cast<void*>(static_cast<std::uintptr_t>(to_u64(py::reinterpret_steal<py::object>(value), "pd")));
}

/// No check can tell whether a struct is there; but some addresses are impossible.
void* to_address(std::uint64_t value) {
  constexpr std::uint64_t first_page = 4096;
  constexpr std::uint64_t first_of_kernel = std::uint64_t{1} << 57;
  const bool possible = value >= first_page && value < first_of_kernel && value % alignof(void*) == 0;
  if (value != 0 && !possible) {
    raise(Status::invalid_value,
          "pd: there is no protection domain at " + std::to_string(value) + "; give the address of a struct ibv_pd");
  }
  return std::bit_cast<void*>(static_cast<std::uintptr_t>(value));
}

/// The address of a struct ibv_pd: an int, a capsule of that name, or pyverbs' object for it.
void* to_domain(const py::object& pd) {
  if (is_of_pyverbs(pd, "pyverbs.pd", "PD")) return to_domain_of_pyverbs(pd);
  if (PyIndex_Check(pd.ptr()) != 0 && !PyBool_Check(pd.ptr())) return to_address(to_u64(pd, "pd"));
  if (PyCapsule_CheckExact(pd.ptr()) == 0) {
    throw py::type_error(py::str("pd must be an int, a capsule named ibv_pd or a PD of pyverbs, not {}")
                             .format(py::type::of(pd).attr("__name__")));
  }
  void* const domain = PyCapsule_GetPointer(pd.ptr(), capsule_name);
  if (domain == nullptr) throw py::error_already_set();
  return domain;
}

py::int_ get_dev_pd(const py::object& device) {
  return {std::bit_cast<std::uintptr_t>(rdma_bridge::get_dev_pd(*to_device(device).get()))};
}

std::shared_ptr<DeviceObject> open_dev_from_pd(const py::object& pd) {
  return std::make_shared<DeviceObject>(rdma_bridge::open_dev_from_pd(to_domain(pd)));
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
             "The address of the device's struct ibv_pd, valid until the device is closed. Raises\n"
             "NotSupportedError unless the backend is rdma-core (doca_rdma_bridge_get_dev_pd).");
  module.def("rdma_bridge_open_dev_from_pd", &open_dev_from_pd, "pd"_a, py::keep_alive<0, 1>(),
             "A device of an application's protection domain. pd is its address, as an int or a capsule named\n"
             "ibv_pd, or a PD of pyverbs, which the device keeps alive. The application closes the domain after\n"
             "every object that was made with it. Raises InvalidValueError for 0 and for a closed PD\n"
             "(doca_rdma_bridge_open_dev_from_pd).");
  module.def("rdma_bridge_get_buf_mkey", &get_buf_mkey, "buf"_a, "dev"_a,
             "The key of buf's memory on the device, for local and remote access. Raises NotFoundError,\n"
             "NotSupportedError (doca_rdma_bridge_get_buf_mkey).");
  module.def("rdma_bridge_get_mmap_mkey_from_pd", &get_mmap_mkey_from_pd, "mmap"_a, "pd"_a,
             "The key of a map's memory on the device with that protection domain, for local and remote access.\n"
             "Raises the errors of rdma_bridge_get_buf_mkey() (doca_rdma_bridge_get_mmap_mkey_from_pd).");
}

}  // namespace pydoca::bindings
