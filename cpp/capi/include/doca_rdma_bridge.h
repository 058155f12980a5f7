/// Objects that a program shares with rdma-core, which it uses itself: protection domains and memory keys. They exist
/// on devices of rdma-core only; NOT_SUPPORTED on others.
///
/// Besides what is said at each function: DOCA_ERROR_INVALID_VALUE for NULL, for an object that was destroyed, and for
/// one of another kind.
#ifndef DOCA_RDMA_BRIDGE_H_
#define DOCA_RDMA_BRIDGE_H_

#include <doca_buf.h>
#include <doca_build_config.h>
#include <doca_compat.h>
#include <doca_dev.h>
#include <doca_error.h>
#include <doca_mmap.h>
#include <doca_types.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ibv_pd;

/// The device's protection domain, which is there until the device is closed.
DOCA_STABLE doca_error_t doca_rdma_bridge_get_dev_pd(const struct doca_dev* dev, struct ibv_pd** pd);
/// A device of the program's protection domain, for memory maps whose keys its queue pairs use; a new one in each call.
/// doca_dev_close() closes it, and the program keeps pd until then.
DOCA_STABLE doca_error_t doca_rdma_bridge_open_dev_from_pd(struct ibv_pd* pd, struct doca_dev** dev);
/// The key of buf's memory on dev, for local and remote access. NOT_FOUND unless its map is started with dev.
DOCA_STABLE doca_error_t doca_rdma_bridge_get_buf_mkey(const struct doca_buf* buf, struct doca_dev* dev,
                                                       uint32_t* mkey);
/// The same for a whole map, by the protection domain of one of its devices. NOT_FOUND unless it has such a device.
DOCA_EXPERIMENTAL doca_error_t doca_rdma_bridge_get_mmap_mkey_from_pd(const struct doca_mmap* mmap, struct ibv_pd* pd,
                                                                      uint32_t* mkey);

#ifdef __cplusplus
}
#endif

#endif  // DOCA_RDMA_BRIDGE_H_
