#include "pydoca/rdma_bridge.hpp"

#include "pydoca/backend/device.hpp"

#include "detail/concat.hpp"

namespace pydoca::rdma_bridge {

void* get_dev_pd(const Device& device) {
  if (!device.is_open()) {
    throw Error(Status::bad_state, detail::concat("protection domain of ", device.info().name(), ": it is closed"));
  }
  return device.backend().protection_domain();
}

std::shared_ptr<Device> open_dev_from_pd(void* pd) {
  if (pd == nullptr) {
    throw Error(Status::invalid_value, "open a device from a protection domain: it is null");
  }
  return Device::adopt(pd);
}

std::uint32_t get_buf_mkey(const Buf& buf, const Device& device) { return buf.mmap()->mkey(device); }

std::uint32_t get_mmap_mkey_from_pd(const Mmap& mmap, const void* pd) {
  for (const std::shared_ptr<Device>& device : mmap.devices()) {
    try {
      if (get_dev_pd(*device) == pd) {
        return mmap.mkey(*device);
      }
    } catch (const Error& error) {
      if (error.status() != Status::not_supported) {
        throw;
      }
    }
  }
  throw Error(Status::not_found, "key of a memory map: it was not added to a device of this protection domain");
}

}  // namespace pydoca::rdma_bridge
