/// Devices: functions of cards that this process can open, and the representors by which a DPU sees those of the host.
///
/// Every function may be called from any thread. Besides what is said at each: DOCA_ERROR_INVALID_VALUE for NULL, for
/// an object that was closed or destroyed, and for one of another kind.
#ifndef DOCA_DEV_H_
#define DOCA_DEV_H_

#include <doca_build_config.h>
#include <doca_compat.h>
#include <doca_error.h>
#include <doca_types.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct doca_dev;          ///< an open device
struct doca_devinfo;      ///< a function, as a list saw it
struct doca_dev_rep;      ///< an open representor
struct doca_devinfo_rep;  ///< a representor, as a list saw it

// Bytes of texts, with the NUL behind them, and of addresses.
#define DOCA_DEVINFO_VUID_SIZE 128
#define DOCA_DEVINFO_IPV4_ADDR_SIZE 4
#define DOCA_DEVINFO_IPV6_ADDR_SIZE 16
#define DOCA_DEVINFO_MAC_ADDR_SIZE 6
#define DOCA_DEVINFO_IFACE_NAME_SIZE 256
#define DOCA_DEVINFO_IBDEV_NAME_SIZE 64
#define DOCA_DEVINFO_PCI_ADDR_SIZE 13  ///< "0000:3a:00.0"
#define DOCA_DEVINFO_PCI_BDF_SIZE 8    ///< "3a:00.0"
#define DOCA_DEVINFO_REP_VUID_SIZE 128
#define DOCA_DEVINFO_REP_PCI_ADDR_SIZE 13
#define DOCA_DEVINFO_REP_PCI_BDF_SIZE 8

/// Which representors a list has. A bit mask; ALL is no filter.
enum doca_devinfo_rep_filter {
  DOCA_DEVINFO_REP_FILTER_ALL = 0,
  DOCA_DEVINFO_REP_FILTER_NET = 2,
  DOCA_DEVINFO_REP_FILTER_EMULATED = 4
};

/// A list of the functions that this process can see now; the caller destroys it. NOT_FOUND when there is none,
/// NOT_PERMITTED when the environment's PYDOCA_SIDE is not the side of this library.
DOCA_STABLE doca_error_t doca_devinfo_create_list(struct doca_devinfo*** dev_list, uint32_t* nb_devs);
/// Its elements are invalid afterwards; devices that were opened from it stay.
DOCA_STABLE doca_error_t doca_devinfo_destroy_list(struct doca_devinfo** dev_list);

/// A list of the representors of dev that pass the filter; the caller destroys it. NOT_SUPPORTED for a device without
/// representors, or without that filter.
DOCA_STABLE doca_error_t doca_devinfo_rep_create_list(struct doca_dev* dev, int filter,
                                                      struct doca_devinfo_rep*** dev_list_rep, uint32_t* nb_devs_rep);
DOCA_STABLE doca_error_t doca_devinfo_rep_destroy_list(struct doca_devinfo_rep** dev_list_rep);

/// Opens a function. One that is open already gives the same object, which counts its openings. INITIALIZATION when too
/// many devices are open.
DOCA_STABLE doca_error_t doca_dev_open(struct doca_devinfo* devinfo, struct doca_dev** dev);
/// Takes one opening back. IN_USE when it is the last one and memory maps, contexts or others use the device.
DOCA_STABLE doca_error_t doca_dev_close(struct doca_dev* dev);
/// Keeps costly resources for a quick restart of what uses them. NOT_SUPPORTED without that capability.
DOCA_EXPERIMENTAL doca_error_t doca_dev_accelerate_resource_reclaim(const struct doca_dev* dev);
DOCA_STABLE doca_error_t doca_dev_rep_open(struct doca_devinfo_rep* devinfo, struct doca_dev_rep** dev_rep);
/// IN_USE while a server is on it.
DOCA_STABLE doca_error_t doca_dev_rep_close(struct doca_dev_rep* dev);
/// The function of an open device, valid while it is open. NULL for an invalid device.
DOCA_STABLE struct doca_devinfo* doca_dev_as_devinfo(const struct doca_dev* dev);
DOCA_STABLE struct doca_devinfo_rep* doca_dev_rep_as_devinfo(const struct doca_dev_rep* dev_rep);

// Properties of a function. size: bytes of the caller's memory, at least the SIZE of the property.
/// Writes "0000:3a:00.0": DOCA_DEVINFO_PCI_ADDR_SIZE bytes. Empty for a device in software.
DOCA_STABLE doca_error_t doca_devinfo_get_pci_addr_str(const struct doca_devinfo* devinfo, char* pci_addr_str);
/// is_equal: 1 or 0. Takes "0000:3a:00.0" and "3a:00.0"; INVALID_VALUE for another form.
DOCA_STABLE doca_error_t doca_devinfo_is_equal_pci_addr(const struct doca_devinfo* devinfo, const char* pci_addr_str,
                                                        uint8_t* is_equal);
/// NOT_FOUND when none is set, as for ipv6.
DOCA_STABLE doca_error_t doca_devinfo_get_ipv4_addr(const struct doca_devinfo* devinfo, uint8_t* ipv4_addr,
                                                    uint32_t size);
DOCA_STABLE doca_error_t doca_devinfo_get_ipv6_addr(const struct doca_devinfo* devinfo, uint8_t* ipv6_addr,
                                                    uint32_t size);
/// NOT_SUPPORTED on an InfiniBand port.
DOCA_STABLE doca_error_t doca_devinfo_get_mac_addr(const struct doca_devinfo* devinfo, uint8_t* mac_addr,
                                                   uint32_t size);
DOCA_STABLE doca_error_t doca_devinfo_get_iface_name(const struct doca_devinfo* devinfo, char* iface_name,
                                                     uint32_t size);
DOCA_STABLE doca_error_t doca_devinfo_get_ibdev_name(const struct doca_devinfo* devinfo, char* ibdev_name,
                                                     uint32_t size);
/// NOT_SUPPORTED except on an InfiniBand port.
DOCA_STABLE doca_error_t doca_devinfo_get_lid(const struct doca_devinfo* devinfo, uint16_t* lid);
/// bits/s.
DOCA_EXPERIMENTAL doca_error_t doca_devinfo_get_active_rate(const struct doca_devinfo* devinfo, uint64_t* active_rate);
DOCA_EXPERIMENTAL doca_error_t doca_devinfo_get_vhca_id(const struct doca_devinfo* devinfo, uint16_t* vhca_id);
DOCA_EXPERIMENTAL doca_error_t doca_devinfo_get_pci_func_type(const struct doca_devinfo* devinfo,
                                                              enum doca_pci_func_type* pci_func_type);
/// NOT_SUPPORTED except for an SF.
DOCA_EXPERIMENTAL doca_error_t doca_devinfo_get_sf_index(const struct doca_devinfo* devinfo, uint32_t* sf_index);

// Capabilities of a function: 1 or 0.
DOCA_STABLE doca_error_t doca_devinfo_cap_is_hotplug_manager_supported(const struct doca_devinfo* devinfo,
                                                                       uint8_t* is_hotplug_manager);
DOCA_EXPERIMENTAL doca_error_t doca_devinfo_cap_is_notification_moderation_supported(
    const struct doca_devinfo* devinfo, uint8_t* is_notification_moderation_supported);
DOCA_EXPERIMENTAL doca_error_t doca_devinfo_cap_is_accelerate_resource_reclaim_supported(
    const struct doca_devinfo* devinfo, uint8_t* is_accelerate_resource_reclaim_supported);
DOCA_STABLE doca_error_t doca_devinfo_rep_cap_is_filter_all_supported(const struct doca_devinfo* devinfo,
                                                                      uint8_t* filter_all_supported);
DOCA_STABLE doca_error_t doca_devinfo_rep_cap_is_filter_net_supported(const struct doca_devinfo* devinfo,
                                                                      uint8_t* filter_net_supported);
DOCA_STABLE doca_error_t doca_devinfo_rep_cap_is_filter_emulated_supported(const struct doca_devinfo* devinfo,
                                                                           uint8_t* filter_emulated_supported);

// Properties of a representor, most of them those of the function that it represents.
DOCA_STABLE doca_error_t doca_devinfo_rep_get_vuid(const struct doca_devinfo_rep* devinfo_rep, char* rep_vuid,
                                                   uint32_t size);
/// The address on the function's own side: DOCA_DEVINFO_REP_PCI_ADDR_SIZE bytes.
DOCA_STABLE doca_error_t doca_devinfo_rep_get_pci_addr_str(const struct doca_devinfo_rep* devinfo_rep,
                                                           char* pci_addr_str);
DOCA_STABLE doca_error_t doca_devinfo_rep_is_equal_pci_addr(const struct doca_devinfo_rep* devinfo_rep,
                                                            const char* pci_addr_str, uint8_t* is_equal);
DOCA_STABLE doca_error_t doca_devinfo_rep_get_pci_func_type(const struct doca_devinfo_rep* devinfo_rep,
                                                            enum doca_pci_func_type* pci_func_type);
DOCA_STABLE doca_error_t doca_devinfo_rep_get_is_hotplug(const struct doca_devinfo_rep* devinfo_rep,
                                                         uint8_t* is_hotplug);
/// The name of the representor's own interface.
DOCA_EXPERIMENTAL doca_error_t doca_devinfo_rep_get_iface_name(const struct doca_devinfo_rep* devinfo_rep,
                                                               char* iface_name, uint32_t size);
DOCA_EXPERIMENTAL doca_error_t doca_devinfo_rep_get_vhca_id(const struct doca_devinfo_rep* devinfo_rep,
                                                            uint16_t* vhca_id);

#ifdef __cplusplus
}
#endif

#endif  // DOCA_DEV_H_
