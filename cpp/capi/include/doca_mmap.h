/// Memory maps: ranges of memory that devices may reach.
///
/// A map is stopped at first; it is configured, started, used and stopped. Besides what is said at each function:
/// INVALID_VALUE for NULL, for an object that was destroyed, and for one of another kind; setters answer BAD_STATE
/// while the map is started, NOT_PERMITTED for an imported map. One thread at a time.
#ifndef DOCA_MMAP_H_
#define DOCA_MMAP_H_

#include <doca_build_config.h>
#include <doca_compat.h>
#include <doca_error.h>
#include <doca_types.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct doca_dev;
struct doca_devinfo;
struct doca_dpa;
struct doca_mmap;

typedef uint32_t doca_dpa_dev_mmap_t;  ///< a map as kernels of a DPA see it

/// Called when a map is destroyed that was started since the callback was set: its range is the program's again.
typedef void(doca_mmap_memrange_free_cb_t)(void* addr, size_t len, void* opaque);

/// A stopped map without range and devices, with the permission LOCAL_READ_WRITE.
DOCA_STABLE doca_error_t doca_mmap_create(struct doca_mmap** mmap);
/// Stops the map, too. NOT_PERMITTED while bufs of it are out, unless it has thread safety.
DOCA_STABLE doca_error_t doca_mmap_destroy(struct doca_mmap* mmap);
/// INVALID_VALUE without a range or a device, NOT_PERMITTED for a started and for an imported map.
DOCA_STABLE doca_error_t doca_mmap_start(struct doca_mmap* mmap);
/// Withdraws the exports, whose descriptions end. Does nothing on a stopped map. NOT_PERMITTED while bufs of it are
/// out, AGAIN while an access of a peer is under way.
DOCA_STABLE doca_error_t doca_mmap_stop(struct doca_mmap* mmap);

/// ALREADY_EXIST when the map has the device, NO_MEMORY when it has as many as it may have, NOT_PERMITTED while
/// started.
DOCA_STABLE doca_error_t doca_mmap_add_dev(struct doca_mmap* mmap, struct doca_dev* dev);
/// NOT_FOUND when the map does not have the device, NOT_PERMITTED while started.
DOCA_STABLE doca_error_t doca_mmap_rm_dev(struct doca_mmap* mmap, struct doca_dev* dev);

/// Describes the range for the other side of dev's PCIe link: fewer than 512 bytes, the map's until its stop.
/// NOT_PERMITTED unless started, for an imported map, and without PCI permission; NOT_FOUND when the map does not have
/// dev; NOT_SUPPORTED when dev cannot export.
DOCA_STABLE doca_error_t doca_mmap_export_pci(struct doca_mmap* mmap, const struct doca_dev* dev,
                                              const void** export_desc, size_t* export_desc_len);
/// The same for peers on dev's network.
DOCA_STABLE doca_error_t doca_mmap_export_rdma(struct doca_mmap* mmap, const struct doca_dev* dev,
                                               const void** export_desc, size_t* export_desc_len);
/// A started map of memory that another process exported, for dev's tasks, at the exporter's addresses. user_data may
/// be NULL. UNSUPPORTED_VERSION for a description of another version, NOT_PERMITTED when it is for another device,
/// NOT_CONNECTED when the exporter withdrew it or has ended, TIME_OUT when it does not answer.
DOCA_STABLE doca_error_t doca_mmap_create_from_export(const union doca_data* user_data, const void* export_desc,
                                                      size_t export_desc_len, struct doca_dev* dev,
                                                      struct doca_mmap** mmap);
/// NOT_SUPPORTED: kernels of a DPA cannot be run by programs in C.
DOCA_EXPERIMENTAL doca_error_t doca_mmap_dev_get_dpa_handle(struct doca_mmap* mmap, struct doca_dev* dev,
                                                            doca_dpa_dev_mmap_t* dpa_mmap_handle);

/// Gives the map its one range, which the program keeps while the map is started. NOT_PERMITTED when it has one;
/// INVALID_VALUE for len 0 and for a range that wraps.
DOCA_STABLE doca_error_t doca_mmap_set_memrange(struct doca_mmap* mmap, void* addr, size_t len);
/// INVALID_VALUE when there is none.
DOCA_STABLE doca_error_t doca_mmap_get_memrange(const struct doca_mmap* mmap, void** addr, size_t* len);
/// NOT_SUPPORTED by all devices: memory of another driver.
DOCA_STABLE doca_error_t doca_mmap_set_dmabuf_memrange(struct doca_mmap* mmap, int dmabuf_fd, void* addr,
                                                       size_t dmabuf_offset, size_t len);
/// NOT_SUPPORTED: see doca_mmap_dev_get_dpa_handle().
DOCA_EXPERIMENTAL doca_error_t doca_mmap_set_dpa_memrange(struct doca_mmap* mmap, struct doca_dpa* dpa,
                                                          uint64_t dpa_addr, size_t len);
/// What devices and peers may do: a mask of enum doca_access_flag.
DOCA_STABLE doca_error_t doca_mmap_set_permissions(struct doca_mmap* mmap, uint32_t access_mask);
DOCA_STABLE doca_error_t doca_mmap_set_free_cb(struct doca_mmap* mmap, doca_mmap_memrange_free_cb_t* free_cb,
                                               void* opaque);
DOCA_STABLE doca_error_t doca_mmap_set_user_data(struct doca_mmap* mmap, union doca_data user_data);
DOCA_STABLE doca_error_t doca_mmap_get_user_data(const struct doca_mmap* mmap, union doca_data* user_data);
/// 8 by default. NOT_PERMITTED after the first start.
DOCA_STABLE doca_error_t doca_mmap_set_max_num_devices(struct doca_mmap* mmap, uint32_t max_num_devices);
DOCA_STABLE doca_error_t doca_mmap_get_max_num_devices(const struct doca_mmap* mmap, uint32_t* max_num_devices);
/// Several threads may get and give back bufs of it from now on, each with an inventory of its own. NOT_PERMITTED while
/// started or bufs are out.
DOCA_EXPERIMENTAL doca_error_t doca_mmap_enable_thread_safety(struct doca_mmap* mmap);

/// Bufs of it that are out.
DOCA_STABLE doca_error_t doca_mmap_get_num_bufs(const struct doca_mmap* mmap, uint32_t* num_bufs);
/// 1 when it was exported since its start.
DOCA_STABLE doca_error_t doca_mmap_get_exported(const struct doca_mmap* mmap, uint8_t* exported);
/// 1 when doca_mmap_create_from_export() made it.
DOCA_STABLE doca_error_t doca_mmap_get_from_export(const struct doca_mmap* mmap, uint8_t* from_export);

// Capabilities of a device: 1 or 0.
DOCA_STABLE doca_error_t doca_mmap_cap_is_export_pci_supported(const struct doca_devinfo* devinfo,
                                                               uint8_t* mmap_export);
DOCA_STABLE doca_error_t doca_mmap_cap_is_create_from_export_pci_supported(const struct doca_devinfo* devinfo,
                                                                           uint8_t* from_export);

#ifdef __cplusplus
}
#endif

#endif  // DOCA_MMAP_H_
