#include "common/mmap.hpp"

#include "pydoca/types.hpp"

#include "base/call.hpp"
#include "base/convert.hpp"
#include "common/dev.hpp"

#include <algorithm>
#include <span>
#include <utility>

using namespace pydoca;
using capi::Call;

namespace {

doca_mmap* make(std::shared_ptr<Mmap> map, std::shared_ptr<capi::FreeCallback> free_callback) {
  doca_mmap* const made = capi::Slab<doca_mmap>::make();
  made->map = std::move(map);
  made->free_callback = std::move(free_callback);
  return made;
}

void give_back(std::span<std::byte> memory, std::uint64_t user_data) noexcept {
  const auto& callback = *static_cast<const capi::FreeCallback*>(capi::pointer_to(user_data));
  callback.function(memory.data(), memory.size(), callback.opaque);
}

/// Runs a change of the map.
template <class Change>
doca_error_t change(const Call& call, doca_mmap* mmap, Change apply) noexcept {
  if (!call.has(mmap)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  return call.run([&] { apply(*mmap->map); });
}

template <class Value, class Read>
doca_error_t get(const Call& call, const doca_mmap* mmap, Value* value, Read read) noexcept {
  if (!call.has(mmap, value)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  *value = static_cast<Value>(read(*mmap->map));
  return DOCA_SUCCESS;
}

/// The bytes that the program may point to until the stop: those of an equal export before, or these.
const std::vector<std::byte>& keep(doca_mmap& mmap, capi::Export made) {
  const auto found = std::find_if(mmap.exports.begin(), mmap.exports.end(), [&](const auto& kept) {
    return kept->ordinal == made.ordinal && kept->is_pci == made.is_pci && kept->bytes == made.bytes;
  });
  if (found != mmap.exports.end()) {
    return (*found)->bytes;
  }
  return mmap.exports.emplace_back(std::make_unique<capi::Export>(std::move(made)))->bytes;
}

doca_error_t export_map(const Call& call, doca_mmap* mmap, const doca_dev* dev, const void** desc, std::size_t* len,
                        bool is_pci) noexcept {
  if (!call.has(mmap, dev, desc, len)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  return call.run([&] {
    const Device& device = *dev->device;
    Mmap& map = *mmap->map;
    const std::vector<std::byte>& bytes =
        keep(*mmap, {device.ordinal(), is_pci, is_pci ? map.export_pci(device) : map.export_rdma(device)});
    *desc = bytes.data();
    *len = bytes.size();
  });
}

}  // namespace

doca_error_t doca_mmap_create(doca_mmap** mmap) {
  const Call call;
  if (!call.has(mmap)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  return call.run([&] { *mmap = make(Mmap::create(), std::make_shared<capi::FreeCallback>()); });
}

doca_error_t doca_mmap_destroy(doca_mmap* mmap) {
  const Call call;
  if (!call.has(mmap)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  return call.run([&] {
    mmap->map->close();
    capi::Slab<doca_mmap>::end(*mmap);
  });
}

doca_error_t doca_mmap_start(doca_mmap* mmap) {
  return change(Call(), mmap, [](Mmap& map) { map.start(); });
}

doca_error_t doca_mmap_stop(doca_mmap* mmap) {
  const Call call;
  if (!call.has(mmap)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  return call.run([&] {
    mmap->map->stop();
    mmap->exports.clear();
  });
}

doca_error_t doca_mmap_add_dev(doca_mmap* mmap, doca_dev* dev) {
  const Call call;
  if (!call.has(mmap, dev)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  return call.run([&] { mmap->map->add_device(dev->device); });
}

doca_error_t doca_mmap_rm_dev(doca_mmap* mmap, doca_dev* dev) {
  const Call call;
  if (!call.has(mmap, dev)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  return call.run([&] { mmap->map->remove_device(*dev->device); });
}

doca_error_t doca_mmap_export_pci(doca_mmap* mmap, const doca_dev* dev, const void** export_desc,
                                  std::size_t* export_desc_len) {
  return export_map(Call(), mmap, dev, export_desc, export_desc_len, true);
}

doca_error_t doca_mmap_export_rdma(doca_mmap* mmap, const doca_dev* dev, const void** export_desc,
                                   std::size_t* export_desc_len) {
  return export_map(Call(), mmap, dev, export_desc, export_desc_len, false);
}

doca_error_t doca_mmap_create_from_export(const doca_data* user_data, const void* export_desc,
                                          std::size_t export_desc_len, doca_dev* dev, doca_mmap** mmap) {
  const Call call;
  if (!call.has(export_desc, dev, mmap)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  return call.run([&] {
    const std::span blob(static_cast<const std::byte*>(export_desc), export_desc_len);
    const std::uint64_t word = user_data == nullptr ? 0 : user_data->u64;
    *mmap = make(Mmap::create_from_export(dev->device, blob, word), nullptr);
  });
}

doca_error_t doca_mmap_dev_get_dpa_handle(doca_mmap* mmap, doca_dev* dev, doca_dpa_dev_mmap_t* dpa_mmap_handle) {
  const Call call;
  if (!call.has(mmap, dev, dpa_mmap_handle)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  return call.refuse(Status::not_supported, "kernels of a DPA cannot be run by programs in C");
}

doca_error_t doca_mmap_set_memrange(doca_mmap* mmap, void* addr, std::size_t len) {
  return change(Call(), mmap, [&](Mmap& map) { map.set_memrange(addr, len, mmap->free_callback); });
}

doca_error_t doca_mmap_get_memrange(const doca_mmap* mmap, void** addr, std::size_t* len) {
  const Call call;
  if (!call.has(mmap, addr, len)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  if (mmap->map->len() == 0) {
    return call.invalid("the map has no range");
  }
  *addr = capi::pointer_to(mmap->map->addr());
  *len = mmap->map->len();
  return DOCA_SUCCESS;
}

doca_error_t doca_mmap_set_dmabuf_memrange(doca_mmap* mmap, int dmabuf_fd, void* addr, std::size_t dmabuf_offset,
                                           std::size_t len) {
  return change(Call(), mmap, [&](Mmap& map) { map.set_dmabuf_memrange(dmabuf_fd, addr, dmabuf_offset, len); });
}

doca_error_t doca_mmap_set_dpa_memrange(doca_mmap* mmap, doca_dpa* dpa, std::uint64_t /*dpa_addr*/,
                                        std::size_t /*len*/) {
  const Call call;
  if (!call.has(mmap, static_cast<const void*>(dpa))) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  return call.refuse(Status::not_supported, "kernels of a DPA cannot be run by programs in C");
}

doca_error_t doca_mmap_set_permissions(doca_mmap* mmap, std::uint32_t mask) {
  return change(Call(), mmap, [&](Mmap& map) { map.set_permissions(static_cast<Access>(mask)); });
}

doca_error_t doca_mmap_set_free_cb(doca_mmap* mmap, doca_mmap_memrange_free_cb_t* free_cb, void* opaque) {
  const Call call;
  if (!call.has(mmap)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  if (free_cb == nullptr) {
    return call.invalid("the callback is NULL");
  }
  return call.run([&] {
    mmap->map->set_free_callback(give_back, capi::address_of(mmap->free_callback.get()));
    *mmap->free_callback = {free_cb, opaque};
  });
}

doca_error_t doca_mmap_set_user_data(doca_mmap* mmap, doca_data user_data) {
  return change(Call(), mmap, [&](Mmap& map) { map.set_user_data(user_data.u64); });
}

doca_error_t doca_mmap_get_user_data(const doca_mmap* mmap, doca_data* user_data) {
  const Call call;
  if (!call.has(mmap, user_data)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  *user_data = capi::as_data(mmap->map->user_data());
  return DOCA_SUCCESS;
}

doca_error_t doca_mmap_set_max_num_devices(doca_mmap* mmap, std::uint32_t max_num_devices) {
  return change(Call(), mmap, [&](Mmap& map) { map.set_max_num_devices(max_num_devices); });
}

doca_error_t doca_mmap_get_max_num_devices(const doca_mmap* mmap, std::uint32_t* max_num_devices) {
  return get(Call(), mmap, max_num_devices, [](const Mmap& map) { return map.max_num_devices(); });
}

doca_error_t doca_mmap_enable_thread_safety(doca_mmap* mmap) {
  return change(Call(), mmap, [](Mmap& map) { map.enable_thread_safety(); });
}

doca_error_t doca_mmap_get_num_bufs(const doca_mmap* mmap, std::uint32_t* num_bufs) {
  return get(Call(), mmap, num_bufs, [](const Mmap& map) { return map.num_bufs(); });
}

doca_error_t doca_mmap_get_exported(const doca_mmap* mmap, std::uint8_t* exported) {
  return get(Call(), mmap, exported, [](const Mmap& map) { return map.is_exported(); });
}

doca_error_t doca_mmap_get_from_export(const doca_mmap* mmap, std::uint8_t* from_export) {
  return get(Call(), mmap, from_export, [](const Mmap& map) { return map.is_from_export(); });
}

doca_error_t doca_mmap_cap_is_export_pci_supported(const doca_devinfo* devinfo, std::uint8_t* mmap_export) {
  if (!Call().has(devinfo, mmap_export)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  *mmap_export = devinfo->info->capabilities().mmap_export_pci ? 1 : 0;
  return DOCA_SUCCESS;
}

doca_error_t doca_mmap_cap_is_create_from_export_pci_supported(const doca_devinfo* devinfo, std::uint8_t* from_export) {
  if (!Call().has(devinfo, from_export)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  *from_export = devinfo->info->capabilities().mmap_create_from_export_pci ? 1 : 0;
  return DOCA_SUCCESS;
}
