/// Inventories: descriptors of bufs, for pieces of any memory map.
///
/// Besides what is said at each function: INVALID_VALUE for NULL, for an object that was destroyed, and for one of
/// another kind. One thread at a time, together with its bufs.
#ifndef DOCA_BUF_INVENTORY_H_
#define DOCA_BUF_INVENTORY_H_

#include <doca_build_config.h>
#include <doca_compat.h>
#include <doca_error.h>
#include <doca_types.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct doca_buf;
struct doca_buf_inventory;
struct doca_mmap;

/// A stopped inventory of num_elements descriptors, at least 1.
DOCA_STABLE doca_error_t doca_buf_inventory_create(size_t num_elements, struct doca_buf_inventory** inventory);
/// Stops it, too. IN_USE while a buf of it is out.
DOCA_STABLE doca_error_t doca_buf_inventory_destroy(struct doca_buf_inventory* inventory);
DOCA_STABLE doca_error_t doca_buf_inventory_start(struct doca_buf_inventory* inventory);
/// Bufs that are out stay valid.
DOCA_STABLE doca_error_t doca_buf_inventory_stop(struct doca_buf_inventory* inventory);
/// Adds descriptors. BAD_STATE unless started.
DOCA_EXPERIMENTAL doca_error_t doca_buf_inventory_expand(struct doca_buf_inventory* inventory, uint32_t num_elements);

/// A buf of the piece [addr, addr + len) of the map, with those data, and one reference. INVALID_VALUE when the piece
/// is not in the map's range, or the data are not in the piece; BAD_STATE unless map and inventory are started;
/// NO_MEMORY when every descriptor is out.
DOCA_STABLE doca_error_t doca_buf_inventory_buf_get_by_args(struct doca_buf_inventory* inventory,
                                                            const struct doca_mmap* mmap, void* addr, size_t len,
                                                            void* data, size_t data_len, struct doca_buf** buf);
/// A destination: its data are empty, at addr.
static inline doca_error_t doca_buf_inventory_buf_get_by_addr(struct doca_buf_inventory* inventory,
                                                              const struct doca_mmap* mmap, void* addr, size_t len,
                                                              struct doca_buf** buf) {
  return doca_buf_inventory_buf_get_by_args(inventory, mmap, addr, len, addr, 0, buf);
}
/// A source: all of the piece is data.
static inline doca_error_t doca_buf_inventory_buf_get_by_data(struct doca_buf_inventory* inventory,
                                                              const struct doca_mmap* mmap, void* data, size_t data_len,
                                                              struct doca_buf** buf) {
  return doca_buf_inventory_buf_get_by_args(inventory, mmap, data, data_len, data, data_len, buf);
}
/// A list of descriptors for the memory of the list src_buf. NOT_PERMITTED for a later element of a list, BAD_STATE
/// unless started, NO_MEMORY.
DOCA_STABLE doca_error_t doca_buf_inventory_buf_dup(struct doca_buf_inventory* inventory,
                                                    const struct doca_buf* src_buf, struct doca_buf** dst_buf);

DOCA_STABLE doca_error_t doca_buf_inventory_set_user_data(struct doca_buf_inventory* inventory,
                                                          union doca_data user_data);
DOCA_STABLE doca_error_t doca_buf_inventory_get_user_data(const struct doca_buf_inventory* inventory,
                                                          union doca_data* user_data);
DOCA_STABLE doca_error_t doca_buf_inventory_get_num_elements(const struct doca_buf_inventory* inventory,
                                                             uint32_t* num_of_elements);
DOCA_STABLE doca_error_t doca_buf_inventory_get_num_free_elements(const struct doca_buf_inventory* inventory,
                                                                  uint32_t* num_of_free_elements);

#ifdef __cplusplus
}
#endif

#endif  // DOCA_BUF_INVENTORY_H_
