#pragma once

#include "pydoca/buf.hpp"
#include "pydoca/device.hpp"
#include "pydoca/mmap.hpp"

#include <cstdint>
#include <memory>

#pragma GCC visibility push(default)

/// Objects shared with programs that use rdma-core themselves (DOCA Core: doca_rdma_bridge). A protection domain is
/// rdma-core's struct ibv_pd. The program that made one keeps it until all that was made of it here is closed.
namespace pydoca::rdma_bridge {

/// The device's struct ibv_pd, alive until it is closed. Throws not_supported off rdma-core, bad_state when closed.
void* get_dev_pd(const Device& device);

/// A device of an application's protection domain, for memory maps whose keys its queue pairs use. Each call makes a
/// device of its own, which Device::open() never gives. Throws invalid_value for null, not_supported in a build without
/// rdma-core.
std::shared_ptr<Device> open_dev_from_pd(void* pd);

/// The key of buf's memory on device, for local and remote access. Throws not_found unless the started map has the
/// device, not_supported off rdma-core.
std::uint32_t get_buf_mkey(const Buf& buf, const Device& device);
/// The same of a whole map, by the protection domain of one of its devices.
std::uint32_t get_mmap_mkey_from_pd(const Mmap& mmap, const void* pd);

}  // namespace pydoca::rdma_bridge

#pragma GCC visibility pop
